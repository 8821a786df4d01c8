// SPDX-License-Identifier: BSD-3-Clause
// The profiles as the page gets them: a tab is decoded when it is first shown, then filtered and
// summed for what is chosen.
// Nothing here knows of the screen. The format is written by tools/flame/flame_data.c.
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
		let byte = this.bytes[this.at++], value = byte & 127;
		for (let scale = 128; byte > 127; scale *= 128) {
			byte = this.bytes[this.at++];
			value += (byte & 127) * scale;
		}
		return value;
	}
}

// Control characters, and those that turn the direction of text, are shown and never obeyed.
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

function shown(text) {
	return text.replace(UNSEEN, c => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));
}

// As enum ct_frame_kind has them.
const KIND_PROGRAM = 0, KIND_KERNEL = 1, KIND_JIT = 2, KIND_MARK = 3, KIND_RUNTIME = 4, KIND_LIBRARY = 5;

function decodeFrames(packed, count, strings) {
	const reader = new NumberReader(packed);
	const frames = [];
	for (let i = 0; i < count; i++) {
		const name = strings[reader.next()];
		const file = strings[reader.next()];
		const module = strings[reader.next()];
		const line = reader.next();
		const lastLine = reader.next();
		frames.push({ name, file, module, line, lastLine, kind: reader.next() });
	}
	return frames;
}

// Nodes come in depth-first order: the nodes below a node are those after it, up to `end`. Each is
// frame << 2 | inlined << 1 | up, and if `up`, how many levels up from the one before its parent
// is. `mark` holds frame << 1 | inlined.
function decodeNodes(packed, count) {
	const reader = new NumberReader(packed), mark = new Int32Array(count), end = new Int32Array(count).fill(count), path = [0];
	mark[0] = -1;
	for (let i = 1; i < count; i++) {
		const value = reader.next();
		for (let up = value & 1 ? reader.next() : 0; up > 0; up--)
			end[path.pop()] = i;
		mark[i] = value >>> 1;
		path.push(i);
	}
	return { count, mark, end };
}

// Rows come ordered by node.
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

// One of the profiles. Frames, and the numbers of label sets, are the same in all of them.
class Tab {
	constructor(raw, index, shared) {
		Object.assign(this, shared);
		this.raw = raw;
		this.index = index;
		this.name = shown(raw.name);
		this.differential = raw.base !== null;
		this.baseName = raw.base === null ? '' : shown(raw.base);
		this.types = raw.types.map(([name, unit]) => ({ name: shown(name), unit: shown(unit) }));
		this.defaultType = raw.defaultType;
		// By frame: lines of its source, [number, self, total, text], of the default type.
		this.source = new Map((raw.source || []).map(([frame, ...lines]) => [frame, lines]));
		this.info = raw.info.map(pair => pair.map(shown));
		// "# ", with which libcprof's begin, says to pprof that it need not show them.
		this.comments = raw.comments.map(text => shown(text).replace(/^#\s?/, ''));
	}

	// The values of the rows: where a window of time was chosen, those of the window.
	valuesOf(type) {
		const window = this.all.window, events = window && this.raw.times && this.all.times.events.get(this);
		if (!events)
			return this.rows.values[type];
		if (this.windowed !== window) {
			this.windowed = window;
			this.windowValues = [];
		}
		return this.windowValues[type] || (this.windowValues[type] = events.valuesIn(type, window.from, window.to));
	}

	get nodes() {
		if (!this.decodedNodes) {
			this.decodedNodes = decodeNodes(this.raw.nodes, this.raw.counts.nodes);
			this.raw.nodes = null;
		}
		return this.decodedNodes;
	}

	get rows() {
		if (!this.decodedRows) {
			this.decodedRows = decodeRows(this.raw.rows, this.raw.counts.rows, this.types);
			this.raw.rows = null;
		}
		return this.decodedRows;
	}

	// By node; needed by a view from the leaves.
	get parents() {
		if (!this.knownParents) {
			const { count, end } = this.nodes, parents = new Int32Array(count), path = [];
			for (let i = 0; i < count; i++) {
				while (path.length && end[path[path.length - 1]] <= i)
					path.pop();
				parents[i] = path.length ? path[path.length - 1] : -1;
				path.push(i);
			}
			this.knownParents = parents;
		}
		return this.knownParents;
	}

	// By frame: does it occur here?
	get present() {
		if (!this.knownPresent) {
			const { count, mark } = this.nodes, present = new Uint8Array(this.frames.length);
			for (let i = 1; i < count; i++)
				present[mark[i] >>> 1] = 1;
			this.knownPresent = present;
		}
		return this.knownPresent;
	}
}

function decodeProfile(text) {
	const raw = JSON.parse(text);
	const strings = raw.strings.map(shown);
	const shared = {
		labelSets: raw.labelSets.map(set => set.map(index => strings[index])),
		frames: decodeFrames(raw.frames, raw.frameCount, strings),
	};
	const all = shared.all = { title: shown(raw.title), first: raw.first, hasTimes: Boolean(raw.times), length: raw.times ? raw.times.length : 0, window: null };
	all.tabs = raw.tabs.map((tab, i) => new Tab(tab, i, shared));
	Object.defineProperty(all, 'times', { get: () => all.knownTimes || (all.knownTimes = new Times(raw.times, all.tabs, strings)) });
	return all;
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

// The sums of each label's values, for the list of filters: [{ key, values: [{ value, total }] }].
function labelTotals(profile, type) {
	const rows = profile.rows, values = profile.valuesOf(type), keys = new Map();
	const bySet = new Float64Array(profile.labelSets.length), occurs = new Uint8Array(bySet.length);
	for (let i = 0; i < rows.count; i++) {
		bySet[rows.labels[i]] += values[i];
		occurs[rows.labels[i]] = 1;
	}
	for (const [index, set] of profile.labelSets.entries()) {
		for (let i = 0; occurs[index] && i < set.length; i += 2) {
			if (!keys.has(set[i]))
				keys.set(set[i], new Map());
			const sums = keys.get(set[i]);
			sums.set(set[i + 1], (sums.get(set[i + 1]) || 0) + bySet[index]);
		}
	}
	return [...keys].map(([key, sums]) => ({
		key,
		values: [...sums].map(([value, total]) => ({ value, total })).sort((a, b) => b.total - a.total),
	}));
}

// Sums of one sample type and set of filters. Rows are ordered by node, and the rows below a node
// follow each other: a total is the difference of two sums over the rows. So nothing here costs by
// the number of nodes. `base` is the other profile's side of a comparison; with `shares` it is
// scaled to the same whole.
class Sums {
	constructor(profile, type, filters, shares) {
		const rows = profile.rows, passes = passingLabelSets(profile, filters), values = profile.valuesOf(type);
		this.rowNode = rows.node;
		this.end = profile.nodes.end;
		this.before = new Float64Array(rows.count + 1);
		this.baseBefore = profile.differential ? new Float64Array(rows.count + 1) : this.before;
		let sum = 0, baseSum = 0;
		for (let i = 0; i < rows.count; i++) {
			if (passes[rows.labels[i]]) {
				if (rows.side[i])
					baseSum += values[i];
				else
					sum += values[i];
			}
			this.before[i + 1] = sum;
			if (profile.differential)
				this.baseBefore[i + 1] = baseSum;
		}
		if (shares && baseSum > 0 && sum > 0)
			this.baseBefore = this.baseBefore.map(value => value * sum / baseSum);
	}

	// The first row of this node or one after it.
	rowOf(node) {
		let low = 0, high = this.rowNode.length;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (this.rowNode[middle] < node)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	between(sums, node, end) { return sums[this.rowOf(end)] - sums[this.rowOf(node)]; }
	total(node) { return this.between(this.before, node, this.end[node]); }
	base(node) { return this.between(this.baseBefore, node, this.end[node]); }
	self(node) { return this.between(this.before, node, node + 1); }
	get whole() { return this.before[this.before.length - 1]; }
	get baseWhole() { return this.baseBefore[this.baseBefore.length - 1]; }
}

// Self and total of each function, recursion counted once: a node adds to its function's total
// unless the same function is above it. Own of those of the program: where they are the innermost.
function sumFrames(profile, sums) {
	const { count, mark, end } = profile.nodes, rowNode = profile.rows.node, { before } = sums;
	const total = new Float64Array(profile.frames.length), own = new Float64Array(profile.frames.length);
	const above = new Int32Array(profile.frames.length), path = [], starts = [], owners = [];
	const isOwn = profile.frames.map(({ kind }) => kind === KIND_PROGRAM || kind === KIND_JIT);
	let row = 0;
	const leave = () => {
		const f = mark[path.pop()] >>> 1, start = starts.pop();
		owners.pop();
		if (--above[f] === 0)
			total[f] += before[row] - start;
	};
	for (let i = 1; i < count; i++) {
		while (row < rowNode.length && rowNode[row] < i)
			row++;
		while (path.length && end[path[path.length - 1]] <= i)
			leave();
		above[mark[i] >>> 1]++;
		path.push(i);
		starts.push(before[row]);
		const f = mark[i] >>> 1;
		owners.push(isOwn[f] || !owners.length ? f : owners[owners.length - 1]);
		let last = row;
		while (last < rowNode.length && rowNode[last] === i)
			last++;
		if (isOwn[owners[owners.length - 1]])
			own[owners[owners.length - 1]] += before[last] - before[row];
	}
	row = rowNode.length;
	while (path.length)
		leave();
	return { self: sumSelf(profile, sums), total, own };
}

// The part that a search covers: the sum over the topmost matching nodes.
function sumMatches(profile, sums, matches) {
	const { count, mark, end } = profile.nodes;
	let sum = 0;
	for (let i = 1; i < count;) {
		if (matches[mark[i] >>> 1]) {
			sum += sums.total(i);
			i = end[i];
		} else {
			i++;
		}
	}
	return sum;
}

// Self of each frame, from the rows alone.
function sumSelf(profile, sums) {
	const self = new Float64Array(profile.frames.length), { mark } = profile.nodes, rowNode = profile.rows.node;
	for (let i = 0; i < rowNode.length; i++) {
		if (rowNode[i] > 0)
			self[mark[rowNode[i]] >>> 1] += sums.before[i + 1] - sums.before[i];
	}
	return self;
}
