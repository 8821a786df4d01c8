// SPDX-License-Identifier: BSD-3-Clause
// Colours and words: what a frame looks like, and how values are said.
'use strict';

// Two sets of colours with the text's contrast at 4.5:1 or more; tests/e2e/flame-page.py measures it.
const LOOKS = {
	light: {
		text: '#16130f', faint: '#6b6459', back: '#ffffff', edge: '#ffffff', focus: '#0b57d0',
		program: (shade, turn) => `hsl(${28 + turn * 16} 94% ${66 + shade * 12}%)`,
		runtime: shade => `hsl(212 38% ${80 + shade * 8}%)`,
		library: (shade, turn) => `hsl(${138 + turn * 34} 42% ${69 + shade * 12}%)`,
		kernel: shade => `hsl(268 62% ${79 + shade * 8}%)`,
		jit: shade => `hsl(342 76% ${80 + shade * 7}%)`,
		mark: () => '#d5d3cf',
		thin: '#e4ddd2', match: '#e05cf0', root: '#dfe3e8',
		changed: (amount, grew) => grew ? `hsl(6 85% ${94 - amount * 30}%)` : `hsl(212 80% ${94 - amount * 30}%)`,
		same: '#eeece8', alive: '#f1eee9', curve: ['#a9c4ea', '#f0b58a'],
		waits: { ready: '#f2d34b', lock: '#e0645a', thread: '#eba9a2', disk: '#b48ad8', network: '#7fb9e6', idle: '#dcd8d1', other: '#c2bdb4' },
		span: hue => `hsl(${hue} 60% 84%)`,
	},
	dark: {
		text: '#f6f2ec', faint: '#aaa297', back: '#191816', edge: '#191816', focus: '#8ab4f8',
		program: (shade, turn) => `hsl(${24 + turn * 14} 74% ${26 + shade * 7 - turn * 3}%)`,
		runtime: shade => `hsl(212 24% ${28 + shade * 8}%)`,
		library: (shade, turn) => `hsl(${145 + turn * 30} 44% ${19 + shade * 7}%)`,
		kernel: shade => `hsl(268 36% ${36 + shade * 9}%)`,
		jit: shade => `hsl(340 44% ${33 + shade * 8}%)`,
		mark: () => '#4a4743',
		thin: '#35322d', match: '#8f2aa0', root: '#3b4048',
		changed: (amount, grew) => grew ? `hsl(6 62% ${24 + amount * 17}%)` : `hsl(212 60% ${24 + amount * 17}%)`,
		same: '#3a3733', alive: '#24221f', curve: ['#34537f', '#8a5a33'],
		waits: { ready: '#7d6a10', lock: '#a23a32', thread: '#6e423e', disk: '#694a8c', network: '#2c5d84', idle: '#35322d', other: '#57534c' },
		span: hue => `hsl(${hue} 34% 30%)`,
	},
};

function hashed(text) {
	let hash = 2166136261;
	for (let i = 0; i < text.length; i++)
		hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
	return ((hash ^ (hash >>> 15)) >>> 0) / 4294967296;
}

// Kinds of code in the order of the legend: { kind, text, colour(look, shade, turn) }.
const KINDS = [
	{ kind: KIND_PROGRAM, text: 'program', colour: (look, shade, turn) => look.program(shade, turn) },
	{ kind: KIND_RUNTIME, text: 'libc, runtime', colour: (look, shade) => look.runtime(shade) },
	{ kind: KIND_LIBRARY, text: 'other libraries', colour: (look, shade, turn) => look.library(shade, turn) },
	{ kind: KIND_KERNEL, text: 'kernel', colour: (look, shade) => look.kernel(shade) },
	{ kind: KIND_JIT, text: 'JIT', colour: (look, shade) => look.jit(shade) },
	{ kind: KIND_MARK, text: 'no code', colour: look => look.mark() },
];

// A function keeps its colour in every view; modules of one kind are neighbours in hue.
function frameColour(look, frame) {
	const shade = Math.floor(hashed(frame.name) * 8) / 8, turn = Math.floor(hashed(frame.module) * 8) / 8;
	return KINDS.find(({ kind }) => kind === frame.kind).colour(look, shade, turn);
}

// Red for more and blue for less; full strength at FULL_CHANGE of all samples, by square root, so
// that small changes are seen too.
const FULL_CHANGE = 0.1;

function changeColour(look, share) {
	if (Math.abs(share) < 0.0005)
		return look.same;
	const amount = Math.round(Math.min(Math.sqrt(Math.abs(share) / FULL_CHANGE), 1) * 8) / 8;
	return look.changed(amount, share > 0);
}

const SCALES = {
	nanoseconds: [['ns', 1], ['\u00b5s', 1e3], ['ms', 1e6], ['s', 1e9], ['min', 6e10], ['h', 3.6e12]],
	microseconds: [['\u00b5s', 1], ['ms', 1e3], ['s', 1e6], ['min', 6e7], ['h', 3.6e9]],
	milliseconds: [['ms', 1], ['s', 1e3], ['min', 6e4], ['h', 3.6e6]],
	seconds: [['s', 1], ['min', 60], ['h', 3600]],
	bytes: [['B', 1], ['KiB', 1024], ['MiB', 1048576], ['GiB', 1073741824], ['TiB', 1099511627776]],
};

// Common names for the sample types of libcprof and of Go.
const TYPE_NAMES = {
	cpu: 'CPU time', wall: 'Wall time', samples: 'Samples',
	alloc_space: 'Allocated memory', alloc_objects: 'Allocations',
	total_space: 'Allocated memory', total_objects: 'Allocations',
	inuse_space: 'Memory in use', inuse_objects: 'Blocks in use',
	mmap_space: 'Mapped memory', mmap_calls: 'Calls of mmap',
	inuse_mapped: 'Mapped memory in use', inuse_mappings: 'Mappings in use',
	peak_space: 'Memory at the peak', peak_objects: 'Blocks at the peak',
	delay: 'Time waited', contentions: 'Waits',
	blocking: 'Time others waited', waits: 'Waits',
	calls: 'Calls', bytes: 'Bytes moved', errors: 'Failed calls',
};

function typeText(type) {
	if (Object.hasOwn(TYPE_NAMES, type.name))
		return TYPE_NAMES[type.name];
	return type.unit === '' || type.unit === 'count' ? type.name : `${type.name} (${type.unit})`;
}

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

// Steps of a ruler: at least LEAST, a round number in the unit that it is said in.
function niceStep(least, unit) {
	if (unit === 'bytes')
		return 2 ** Math.max(Math.ceil(Math.log2(least)), 0);
	const scale = (SCALES[unit] || [['', 1]]).reduce((best, [, size]) => size <= least ? size : best, 1);
	const ten = 10 ** Math.floor(Math.log10(least / scale)), part = least / scale / ten;
	return Math.max(scale * ten * (part <= 1 ? 1 : part <= 2 ? 2 : part <= 5 ? 5 : 10), unit in SCALES ? 0 : 1);
}

function shareText(part, whole) {
	if (!(whole > 0))
		return '';
	const share = 100 * part / whole;
	return `${Math.abs(share) >= 10 || share === 0 ? share.toFixed(1) : share.toPrecision(2)} %`;
}

// "+12 %": of what it was before.
function growthText(value, base) {
	if (value === base)
		return '';
	if (!(base > 0))
		return 'new';
	if (!(value > 0))
		return 'gone';
	const share = 100 * (value - base) / base, size = Math.abs(share);
	return `${share > 0 ? '+' : '\u2212'}${size >= 10 ? size.toFixed(0) : size.toPrecision(2)} %`;
}

function placeText(frame) {
	if (!frame.file)
		return '';
	if (!frame.line)
		return frame.file;
	return frame.lastLine > frame.line ? `${frame.file}:${frame.line}\u2013${frame.lastLine}` : `${frame.file}:${frame.line}`;
}

// For tables and paths: template arguments are <\u2026>. The name of an operator may hold brackets and
// stays whole, and so does what a name begins with (Rust's "<T as Trait>::f").
function shortName(name) {
	let short = '', depth = 0;
	for (let i = 0; i < name.length; i++) {
		if (depth === 0 && name.startsWith('operator', i) && !/\w/.test(name[i - 1] || '')) {
			const operator = /^operator\s*(?:\(\)|\[\]|->\*?|<=>|<<=?|>>=?|[<>]=?|)/.exec(name.slice(i))[0];
			short += operator;
			i += operator.length - 1;
			continue;
		}
		if (name[i] === '>' && depth > 0 && name[i - 1] !== '-')
			depth--;
		if (depth === 0)
			short += name[i];
		if (name[i] === '<' && i > 0) {
			if (depth === 0)
				short += '\u2026';
			depth++;
		}
	}
	return depth === 0 ? short.replace(/\u2026 +>/g, '\u2026>') : name;
}

// The short texts of a narrow frame, the longest first: without template arguments, and then
// without the namespaces too.
function shorterNames(name) {
	const plain = shortName(name).replace(/^<.*>::|(::)?<\u2026>| <\u2026>/g, '').replace(/^::/, '');
	const last = plain.replace(/^.*(::|\/)(?=[^:/])(?!.*\boperator\b)|^.*::(?=operator\b)/, '');
	return [...new Set([plain, last])].filter(shorter => shorter.length > 0 && shorter.length < name.length);
}

const KIND_TEXT = ['', 'kernel', 'JIT code', 'no code', '', ''];
const NOT_WHOLE = 'the outer part of these stacks is missing';
const MARK_TEXT = {
	'[truncated]': NOT_WHOLE, '[incomplete]': NOT_WHOLE,
	'[woken by]': 'what follows is the stack of the thread that ended the wait',
	'[freed by]': 'what follows is the stack that freed the blocks',
	'[waker unknown]': 'no thread of this process was seen to end the wait',
};

function remarkText(frame, inlined) {
	const kind = Object.hasOwn(MARK_TEXT, frame.name) ? MARK_TEXT[frame.name] : KIND_TEXT[frame.kind];
	return [inlined ? 'inlined' : '', kind].filter(Boolean).join(', ');
}
