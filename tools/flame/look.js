// Colours and words: what a frame looks like, and how values are said.
'use strict';

// Two sets of colours with the text's contrast at 4.5:1 or more; tests/e2e/flame-page.py measures it.
const LOOKS = {
	light: {
		text: '#16130f', faint: '#6b6459', back: '#ffffff', edge: '#ffffff', focus: '#0b57d0',
		user: (shade, turn) => `hsl(${16 + turn * 34} 88% ${68 + shade * 14}%)`,
		kernel: shade => `hsl(262 60% ${78 + shade * 9}%)`,
		jit: shade => `hsl(145 45% ${70 + shade * 12}%)`,
		mark: () => '#d5d3cf',
		thin: '#e4ddd2', match: '#e05cf0', root: '#dfe3e8',
		changed: (amount, grew) => grew ? `hsl(6 85% ${94 - amount * 30}%)` : `hsl(212 80% ${94 - amount * 30}%)`,
		same: '#eeece8',
	},
	dark: {
		text: '#f6f2ec', faint: '#aaa297', back: '#191816', edge: '#191816', focus: '#8ab4f8',
		user: (shade, turn) => `hsl(${12 + turn * 32} ${58 + turn * 8}% ${28 + shade * 8 - turn * 4}%)`,
		kernel: shade => `hsl(262 32% ${34 + shade * 9}%)`,
		jit: shade => `hsl(150 40% ${22 + shade * 8}%)`,
		mark: () => '#4a4743',
		thin: '#35322d', match: '#8f2aa0', root: '#3b4048',
		changed: (amount, grew) => grew ? `hsl(6 62% ${24 + amount * 17}%)` : `hsl(212 60% ${24 + amount * 17}%)`,
		same: '#3a3733',
	},
};

function hashed(text) {
	let hash = 2166136261;
	for (let i = 0; i < text.length; i++)
		hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
	return ((hash ^ (hash >>> 15)) >>> 0) / 4294967296;
}

// A function keeps its colour in every view; functions of one module are neighbours in hue.
function frameColour(look, frame) {
	const shade = Math.floor(hashed(frame.name) * 8) / 8;
	switch (frame.kind) {
	case KIND_KERNEL: return look.kernel(shade);
	case KIND_JIT: return look.jit(shade);
	case KIND_MARK: return look.mark();
	default: return look.user(shade, Math.floor(hashed(frame.module) * 12) / 12);
	}
}

// Red for more and blue for less; full strength at 10 % of all samples, by square root, so that
// small changes are seen too.
function changeColour(look, change, total) {
	const share = total > 0 ? change / total : 0;
	if (Math.abs(share) < 0.0005)
		return look.same;
	const amount = Math.round(Math.min(Math.sqrt(Math.abs(share) / 0.1), 1) * 8) / 8;
	return look.changed(amount, share > 0);
}

const SCALES = {
	nanoseconds: [['ns', 1], ['\u00b5s', 1e3], ['ms', 1e6], ['s', 1e9], ['min', 6e10], ['h', 3.6e12]],
	microseconds: [['\u00b5s', 1], ['ms', 1e3], ['s', 1e6], ['min', 6e7], ['h', 3.6e9]],
	milliseconds: [['ms', 1], ['s', 1e3], ['min', 6e4], ['h', 3.6e6]],
	seconds: [['s', 1], ['min', 60], ['h', 3600]],
	bytes: [['B', 1], ['KiB', 1024], ['MiB', 1048576], ['GiB', 1073741824], ['TiB', 1099511627776]],
};

function valueText(value, unit) {
	const scales = SCALES[unit];
	if (!scales) {
		const plain = Math.round(value).toLocaleString('en-US');
		return unit === 'count' || unit === '' ? plain : `${plain} ${unit}`;
	}
	let chosen = scales[0];
	for (const scale of scales) {
		if (Math.abs(value) >= scale[1])
			chosen = scale;
	}
	const scaled = value / chosen[1];
	const digits = chosen[1] === 1 ? 0 : Math.abs(scaled) >= 100 ? 0 : Math.abs(scaled) >= 10 ? 1 : 2;
	return `${scaled.toFixed(digits)} ${chosen[0]}`;
}

function shareText(part, whole) {
	if (!(whole > 0))
		return '';
	const share = 100 * part / whole;
	return `${Math.abs(share) >= 10 || share === 0 ? share.toFixed(1) : share.toPrecision(2)} %`;
}

function placeText(frame) {
	if (!frame.file)
		return '';
	if (!frame.line)
		return frame.file;
	return frame.lastLine > frame.line ? `${frame.file}:${frame.line}\u2013${frame.lastLine}` : `${frame.file}:${frame.line}`;
}

// What a narrow frame says instead of its name, the longest first: without template arguments, and
// then without the namespaces too. The name of an operator may hold brackets and stays whole.
function shorterNames(name) {
	const at = name.search(/\boperator\b/);
	const head = at < 0 ? name : name.slice(0, at), tail = at < 0 ? '' : name.slice(at);
	let plain = '', depth = 0;
	for (const letter of head) {
		if (letter === '<')
			depth++;
		if (depth === 0)
			plain += letter;
		if (letter === '>' && depth > 0)
			depth--;
	}
	plain = plain.replace(/^::/, '');
	const last = tail ? '' : plain.replace(/^.*(::|\/)(?=[^:/])/, '');
	return [...new Set([plain + tail, last + tail])].filter(shorter => shorter.length > 0 && shorter.length < name.length);
}

const KIND_TEXT = ['', 'kernel', 'JIT code', 'no code'];
const NOT_WHOLE = ['[truncated]', '[incomplete]'];

function remarkText(frame) {
	const kind = NOT_WHOLE.includes(frame.name) ? 'the outer part of these stacks is missing' : KIND_TEXT[frame.kind];
	return [frame.inlined ? 'inlined' : '', kind].filter(Boolean).join(', ');
}
