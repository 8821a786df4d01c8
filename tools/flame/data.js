// The profile as the page gets it: decoded once, then filtered and summed for what is chosen.
// Nothing here knows of the screen. The format is written by tools/flame_data.c.
'use strict';

function bytesOf(base64) {
	if (Uint8Array.fromBase64)
		return Uint8Array.fromBase64(base64);
	const binary = atob(base64), bytes = new Uint8Array(binary.length);
	for (let i = 0; i < binary.length; i++)
		bytes[i] = binary.charCodeAt(i);
	return bytes;
}

// Unsigned LEB128 numbers in base64. Beyond 2^53 they lose their last bits, which no width shows.
class NumberReader {
	constructor(base64) {
		this.bytes = bytesOf(base64);
		this.at = 0;
	}

	next() {
		const byte = this.bytes[this.at++];
		return byte < 128 ? byte : this.more(byte & 127);
	}

	more(value) {
		let scale = 128, byte;
		do {
			byte = this.bytes[this.at++];
			value += (byte & 127) * scale;
			scale *= 128;
		} while (byte >= 128);
		return value;
	}
}

// Control characters, and those that turn the direction of text, are shown and never obeyed.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

function shown(text) {
	return text.replace(UNSEEN, c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
}

const KIND_USER = 0, KIND_KERNEL = 1, KIND_JIT = 2, KIND_MARK = 3;

function decodeFrames(packed, count, strings) {
	const reader = new NumberReader(packed);
	const frames = [];
	for (let i = 0; i < count; i++) {
		const name = strings[reader.next()];
		const file = strings[reader.next()];
		const module = strings[reader.next()];
		const line = reader.next();
		const lastLine = reader.next();
		const flags = reader.next();
		frames.push({ name, file, module, line, lastLine, kind: flags & 3, inlined: (flags & 4) !== 0 });
	}
	return frames;
}

// Nodes come in depth-first order: a number of levels to go up from the one before, and a frame.
// The one long loop of the start, so the numbers (below 2^28) are read in place.
function decodeNodes(packed, count) {
	const bytes = bytesOf(packed);
	const parent = new Int32Array(count), frame = new Int32Array(count), depth = new Int32Array(count);
	let at = 0, level = 0;
	let path = new Int32Array(1024);
	const next = () => {
		let value = 0, shift = 0, byte;
		do {
			byte = bytes[at++];
			value |= (byte & 127) << shift;
			shift += 7;
		} while (byte > 127);
		return value;
	};
	parent[0] = frame[0] = -1;
	for (let i = 1; i < count; i++) {
		level += 1 - next();
		if (level >= path.length) {
			const longer = new Int32Array(path.length * 2);
			longer.set(path);
			path = longer;
		}
		path[level] = i;
		parent[i] = path[level - 1];
		depth[i] = level;
		frame[i] = next();
	}
	return { parent, frame, depth };
}

function decodeRows(packed, count, types) {
	const reader = new NumberReader(packed);
	const rows = { count, node: new Int32Array(count), labels: new Int32Array(count), side: new Uint8Array(count) };
	rows.values = types.map(() => new Float64Array(count));
	let node = 0;
	for (let i = 0; i < count; i++) {
		node += reader.next();
		rows.node[i] = node;
		const packedSide = reader.next();
		rows.side[i] = packedSide & 1;
		rows.labels[i] = packedSide >>> 1;
		for (const values of rows.values)
			values[i] = reader.next();
	}
	return rows;
}

function decodeProfile(text) {
	const raw = JSON.parse(text);
	const strings = raw.strings.map(shown);
	const nodes = decodeNodes(raw.nodes, raw.counts.nodes);
	return {
		title: shown(raw.title),
		differential: raw.base !== null,
		baseName: raw.base === null ? '' : shown(raw.base),
		types: raw.types.map(([name, unit]) => ({ name: shown(name), unit: shown(unit) })),
		defaultType: raw.defaultType,
		info: raw.info.map(pair => pair.map(shown)),
		labelSets: raw.labelSets.map(set => set.map(index => strings[index])),
		frames: decodeFrames(raw.frames, raw.counts.frames, strings),
		nodes,
		rows: decodeRows(raw.rows, raw.counts.rows, raw.types),
	};
}

// The label sets that pass: values of one key are alternatives, keys must all be met.
function passingLabelSets(profile, filters) {
	const wanted = new Map();
	for (const { key, value } of filters) {
		if (!wanted.has(key))
			wanted.set(key, new Set());
		wanted.get(key).add(value);
	}
	return profile.labelSets.map(set => {
		for (const [key, values] of wanted) {
			let met = false;
			for (let i = 0; i < set.length; i += 2)
				met = met || (set[i] === key && values.has(set[i + 1]));
			if (!met)
				return false;
		}
		return true;
	});
}

// What each label's value amounts to, for the list of filters: [{ key, values: [{ value, total }] }].
function labelTotals(profile, type) {
	const rows = profile.rows, bySet = new Float64Array(profile.labelSets.length);
	for (let i = 0; i < rows.count; i++)
		bySet[rows.labels[i]] += rows.values[type][i];
	const keys = new Map();
	profile.labelSets.forEach((set, index) => {
		for (let i = 0; i < set.length; i += 2) {
			if (!keys.has(set[i]))
				keys.set(set[i], new Map());
			const values = keys.get(set[i]);
			values.set(set[i + 1], (values.get(set[i + 1]) || 0) + bySet[index]);
		}
	});
	return [...keys].map(([key, values]) => ({
		key,
		values: [...values].map(([value, total]) => ({ value, total })).sort((a, b) => b.total - a.total),
	}));
}

// Self and total of each node for one sample type and set of filters. `base` is the other profile's
// side of a comparison; with `shares` it is scaled to the same whole.
function sumNodes(profile, type, filters, shares) {
	const { parent } = profile.nodes, count = parent.length, rows = profile.rows;
	const self = new Float64Array(count);
	const baseSelf = profile.differential ? new Float64Array(count) : self;
	const passes = passingLabelSets(profile, filters), values = rows.values[type];
	for (let i = 0; i < rows.count; i++) {
		if (passes[rows.labels[i]])
			(rows.side[i] ? baseSelf : self)[rows.node[i]] += values[i];
	}
	const sums = { self, baseSelf, total: sumUpwards(parent, self) };
	sums.baseTotal = profile.differential ? sumUpwards(parent, baseSelf) : sums.total;
	if (shares && sums.baseTotal[0] > 0 && sums.total[0] > 0) {
		const scale = sums.total[0] / sums.baseTotal[0];
		for (const array of [sums.baseSelf, sums.baseTotal])
			array.forEach((value, i) => { array[i] = value * scale; });
	}
	return sums;
}

function sumUpwards(parent, self) {
	const total = self.slice();
	for (let i = total.length - 1; i > 0; i--)
		total[parent[i]] += total[i];
	return total;
}

// Self and total of each function, recursion counted once: a node adds to its function's total
// unless the same function is above it.
function sumFrames(profile, sums) {
	const { frame, depth } = profile.nodes, count = profile.frames.length;
	const result = { self: new Float64Array(count), total: new Float64Array(count) };
	const above = new Int32Array(count), path = [];
	for (let i = 1; i < frame.length; i++) {
		while (path.length >= depth[i])
			above[path.pop()]--;
		const f = frame[i];
		result.self[f] += sums.self[i];
		if (above[f] === 0)
			result.total[f] += sums.total[i];
		above[f]++;
		path.push(f);
	}
	return result;
}

// What a search covers: the sum over the topmost matching nodes.
function sumMatches(profile, total, matches) {
	const { parent, frame } = profile.nodes;
	const covered = new Uint8Array(parent.length);
	let sum = 0;
	for (let i = 1; i < parent.length; i++) {
		if (covered[parent[i]]) {
			covered[i] = 1;
		} else if (matches[frame[i]]) {
			covered[i] = 1;
			sum += total[i];
		}
	}
	return sum;
}
