// SPDX-License-Identifier: BSD-3-Clause
// What a profile says about itself in its comments, and what its figures say about it: losses, what
// profiling cost, and hints. Words of lib/output and of the modes' comments are read here; what isn't
// recognised is still among the details.
'use strict';

const MAX_HINTS = 3, HINT_SHARE = 0.05;

// The parts of "5 ring full, 0 no memory" that aren't 0.
function partsAboveZero(text) {
	return text.split(',').map(part => part.trim()).filter(part => parseFloat(part) > 0);
}

function lossesOf(comment) {
	const losses = [], add = (what, parts) => { if (parts.length) losses.push(`${what}: ${parts.join(', ')}`); };
	for (const [, what, parts] of comment.matchAll(/(?:^|[;:] )((?:\w+ )?lost(?: \w+)?): ([^;]*)/g))
		add(what, partsAboveZero(parts));
	const stacks = /^stacks: (.*)/.exec(comment);
	if (stacks)
		add('stacks', partsAboveZero(stacks[1]));
	for (const part of comment.split(';').map(text => text.trim())) {
		if (parseFloat(part) > 0 && /^[\d.]+ .*(in paused threads|not seen|could not be made)/.test(part))
			losses.push(part);
	}
	const unsampled = /^(?:cpu|wall) time: ([\d.]+) s .*?([\d.]+) s unsampled/.exec(comment);
	if (unsampled && Number(unsampled[2]) > 0.01 * Number(unsampled[1]))
		losses.push(`${unsampled[2]} s of ${unsampled[1]} s unsampled`);
	return losses;
}

function costOf(comments) {
	const costs = comments.filter(text => text.startsWith('cost: '));
	return costs.find(text => text.includes('%')) || costs[0] || '';
}

// Code without names, by module: [{ module, kind, share }], the largest first. SELF is by frame.
function withoutNames(profile, self, whole) {
	const modules = new Map();
	for (const [f, { name, module, kind }] of profile.frames.entries()) {
		const nameless = name === `[${module}]` || name.startsWith(`${module}+0x`);
		if (!(self[f] > 0) || !module || kind === KIND_KERNEL || !nameless)
			continue;
		const known = modules.get(module) || { module, kind, share: 0 };
		known.share += self[f] / whole;
		modules.set(module, known);
	}
	return [...modules.values()].filter(one => one.share >= HINT_SHARE).sort((a, b) => b.share - a.share);
}

function hintsOf(profile, self, whole) {
	const hints = profile.comments.filter(text => text.startsWith('note: ')).map(text => text.slice(6));
	for (const { module, kind, share } of whole > 0 ? withoutNames(profile, self, whole) : []) {
		const part = shareText(share, 1);
		hints.push(kind === KIND_JIT
			? `${part} is JIT code without names; run node with --perf-basic-prof, java with a perf map agent`
			: `${part} is in ${module}, whose functions have no names: install its debug symbols, then cprof symbolize`);
	}
	return hints.slice(0, MAX_HINTS);
}

function notesOf(profile, self, whole) {
	return { losses: profile.comments.flatMap(lossesOf), cost: costOf(profile.comments), hints: hintsOf(profile, self, whole) };
}
