// SPDX-License-Identifier: BSD-3-Clause
// Three trees over the same sums, with one interface: children(node) is { nodes, widths, sum }, widest
// first; width(node), value(node), base(node), self(node), frame(node) (below 0: the whole), inlined(node);
// parent(node), chain(node): the rows that are folded into it, or undefined; caller(node): its parent
// if nothing were folded.
// Children are found and sorted when first asked for, so only what is wide enough to be seen costs
// anything. Node 0 is the root.
'use strict';

// Of the nodes those that are wider than 0, widest first.
function byWidth(nodes, widthOf, frameOf) {
	const list = [];
	for (const node of nodes) {
		const width = widthOf(node);
		if (width > 0)
			list.push({ node, width });
	}
	list.sort((a, b) => b.width - a.width || frameOf(a.node) - frameOf(b.node));
	const sum = list.reduce((total, one) => total + one.width, 0);
	return { nodes: list.map(one => one.node), widths: list.map(one => one.width), sum };
}

// How Rust's and Python's runtimes start the program; other frames of runtimes are known by their kind.
const START_MAIN = /^(std::rt::|Py_|pymain_)/;
const START = /^(Py_(Bytes|Run)?Main|pymain_\w+|_?PyRun_\w+|pyrun_\w+|run_mod|run_eval_code_obj|PyEval_EvalCode|_PyEval_(Vector|EvalFrame)|runtime\.(main|goexit))$/;

// Finds what leads from the root to code of the program or a library and is of a runtime alone: of
// two nodes or more, each the widest below the one before. Maps each of them to all of the chain,
// which is drawn as its first node; what else hangs on the chain is drawn below that.
function findStarts(profile, sums) {
	const { mark, end } = profile.nodes, chains = new Map(), frameAt = node => profile.frames[mark[node] >>> 1];
	const width = node => sums.total(node) + sums.base(node);
	const widest = node => {
		let best = -1;
		for (let child = node + 1; child < end[node]; child = end[child])
			best = best < 0 || width(child) > width(best) ? child : best;
		return best;
	};
	const isStart = node => frameAt(node).kind === KIND_RUNTIME || START.test(frameAt(node).name);
	const follow = first => {
		const chain = [];
		for (let at = first; at >= 0; at = widest(at)) {
			const next = widest(at), nextName = next < 0 ? '' : frameAt(next).name;
			// Of a stripped program, what calls libc's start has no name.
			if (isStart(at) || nextName === '__libc_start_main' || (frameAt(at).name === 'main' && START_MAIN.test(nextName))) {
				chain.push(at);
			} else {
				if (chain.length > 1 && [KIND_PROGRAM, KIND_LIBRARY, KIND_JIT].includes(frameAt(at).kind))
					chain.forEach(node => chains.set(node, chain));
				break;
			}
		}
	};
	const below = (node, depth) => {
		for (let child = node + 1; child < end[node]; child = end[child]) {
			// A thread as root, or "[truncated]", is no code.
			if (depth === 0 && frameAt(child).module === '' && !isStart(child) && frameAt(child).name !== 'main')
				below(child, 1);
			else
				follow(child);
		}
	};
	below(0, 0);
	return chains;
}

// From the root to the leaves: the nodes as they came, but for the chains that are folded.
class CallTree {
	constructor(profile, sums, widthOfBase, chains) {
		this.nodes = profile.nodes;
		this.sums = sums;
		this.widthOfBase = widthOfBase;
		this.chains = chains;
		this.sorted = new Map();
		this.parents = new Map([[0, -1]]);
	}

	*childrenAsTheyCome(node) {
		const { end } = this.nodes, chain = this.chains.get(node);
		for (const at of chain || [node]) {
			for (let child = at + 1; child < end[at]; child = end[child]) {
				if (!chain || this.chains.get(child) !== chain)
					yield child;
			}
		}
	}

	children(node) {
		let list = this.sorted.get(node);
		if (!list) {
			list = byWidth(this.childrenAsTheyCome(node), child => this.width(child), child => this.frame(child));
			this.sorted.set(node, list);
		}
		return list;
	}

	// The way down from the root tells the callers of all that it passes.
	caller(node) {
		const { end } = this.nodes;
		for (let at = 0; !this.parents.has(node);) {
			let child = at + 1;
			while (end[child] <= node)
				child = end[child];
			this.parents.set(child, at);
			at = child;
		}
		return this.parents.get(node);
	}

	parent(node) {
		const caller = this.caller(node), chain = this.chains.get(caller);
		return chain ? chain[0] : caller;
	}

	width(node) { return this.widthOfBase ? this.sums.base(node) : this.sums.total(node); }
	value(node) { return this.sums.total(node); }
	base(node) { return this.sums.base(node); }
	self(node) { return (this.chains.get(node) || [node]).reduce((sum, at) => sum + this.sums.self(at), 0); }
	frame(node) { return this.nodes.mark[node] >> 1; }
	inlined(node) { return (this.nodes.mark[node] & 1) === 1; }
	chain(node) { return this.chains.get(node); }
}

// A node holds nodes of the call tree with one frame: where stacks have come to from the root of this
// tree, up through callers or down through callees. No two of them have a stack in common, so values
// are added as they are. List[0] is the root.
class MergedTree {
	constructor(profile, sums, widthOfBase, chains) {
		this.nodes = profile.nodes;
		this.parents = profile.parents;
		this.sums = sums;
		this.widthOfBase = widthOfBase;
		this.chains = chains;
		this.list = [];
	}

	add(parent, frame, up) {
		this.list.push({ parent, frame, up, value: 0, base: 0, inlined: true, at: [], values: [], bases: [], children: null });
		return this.list.length - 1;
	}

	put(index, at, value, base) {
		const node = this.list[index];
		node.value += value;
		node.base += base;
		node.inlined = node.inlined && (this.nodes.mark[at] & 1) === 1;
		node.at.push(at);
		node.values.push(value);
		node.bases.push(base);
	}

	place(children, parent, at, value, base) {
		const frame = this.nodes.mark[at] >> 1;
		if (!children.has(frame))
			children.set(frame, this.add(parent, frame, this.list[parent].up));
		this.put(children.get(frame), at, value, base);
	}

	close(index, children) {
		this.list[index].children = byWidth(children.values(), child => this.width(child), child => this.frame(child));
	}

	children(index) {
		const node = this.list[index];
		if (!node.children) {
			const children = new Map();
			node.at.forEach((at, i) => {
				if (node.up)
					this.placeCaller(children, index, at, node.values[i], node.bases[i]);
				else
					this.placeCallees(children, index, at);
			});
			this.close(index, children);
			node.values = node.bases = null;
		}
		return node.children;
	}

	placeCaller(children, index, at, value, base) {
		const caller = this.parents[at];
		if (caller > 0)
			this.place(children, index, (this.chains.get(caller) || [caller])[0], value, base);
	}

	placeCallees(children, index, at) {
		const { end } = this.nodes;
		for (let child = at + 1; child < end[at]; child = end[child])
			this.place(children, index, child, this.sums.total(child), this.sums.base(child));
	}

	width(index) { return this.widthOfBase ? this.list[index].base : this.list[index].value; }
	value(index) { return this.list[index].value; }
	base(index) { return this.list[index].base; }
	frame(index) { return this.list[index].frame; }
	inlined(index) { return this.list[index].inlined; }
	parent(index) { return this.list[index].parent; }
	caller(index) { return this.list[index].parent; }
	chain(index) { return this.list[index].up ? this.chains.get(this.list[index].at[0]) : undefined; }

	// Of what passed here, that which nothing of the profile called, or was called.
	self(index) {
		return this.value(index) - this.children(index).nodes.reduce((sum, child) => sum + this.value(child), 0);
	}
}

// First the functions that samples ended in, below them their callers.
class CallerTree extends MergedTree {
	constructor(profile, sums, widthOfBase, chains) {
		super(profile, sums, widthOfBase, chains);
		this.add(-1, -1, true);
		const root = this.list[0], rowNode = profile.rows.node, ends = new Map();
		for (let i = 0, next; i < rowNode.length; i = next) {
			for (next = i + 1; next < rowNode.length && rowNode[next] === rowNode[i];)
				next++;
			const value = sums.before[next] - sums.before[i], base = sums.baseBefore[next] - sums.baseBefore[i];
			if (value > 0 || base > 0) {
				root.value += value;
				root.base += base;
				if (rowNode[i] > 0)
					this.place(ends, 0, rowNode[i], value, base);
			}
		}
		this.close(0, ends);
	}
}

// All stacks with one function: list[0] is that function with its callees below, list[1] the same
// with its callers. Of a recursion the outermost call counts.
class SandwichTree extends MergedTree {
	constructor(profile, sums, widthOfBase, chains, frame) {
		super(profile, sums, widthOfBase, chains);
		const { count, mark, end } = this.nodes;
		this.add(-1, frame, false);
		this.add(-1, frame, true);
		for (let i = 1; i < count;) {
			if (mark[i] >>> 1 === frame) {
				this.put(0, i, sums.total(i), sums.base(i));
				this.put(1, i, sums.total(i), sums.base(i));
			}
			i = mark[i] >>> 1 === frame ? end[i] : i + 1;
		}
	}

	// Both halves meet in the row of the function.
	parent(index) { return super.parent(index) === 1 ? 0 : super.parent(index); }
	chain(index) { return index > 1 ? super.chain(index) : undefined; }
	get top() { return 1; }
}

// Where a node begins, in the unit of widths.
function startOf(tree, node) {
	let start = 0;
	for (let at = node; tree.parent(at) >= 0; at = tree.parent(at)) {
		const { nodes, widths } = tree.children(tree.parent(at));
		for (let i = 0; nodes[i] !== at && i < nodes.length; i++)
			start += widths[i];
	}
	return start;
}

// Rectangles of the nodes between `from` and `to`, row by row: { x, w, node } arrays in pixels,
// left to right. A node that is narrower than a pixel is combined with its neighbours (node -1), so
// that there are never more rectangles in a row than pixels.
function layOut(tree, from, to, pixels, root = 0) {
	const rows = [], view = { from, to, scale: pixels / (to - from) };
	// Depth first and left to right: each row fills in order.
	const pending = [{ node: root, depth: 0, start: 0, width: tree.width(root) }];
	while (pending.length) {
		const { node, depth, start, width } = pending.pop();
		if (rows.length <= depth)
			rows.push({ x: [], w: [], node: [] });
		const left = Math.max((start - from) * view.scale, 0);
		const right = Math.min((start + width - from) * view.scale, pixels);
		rows[depth].x.push(left);
		rows[depth].w.push(right - left);
		rows[depth].node.push(node);
		if (node >= 0)
			pushVisible(pending, tree, node, depth + 1, start, view);
	}
	return rows;
}

// Rightmost first, as the next one is taken from the end.
function pushVisible(pending, tree, parent, depth, start, view) {
	const { nodes, widths, sum } = tree.children(parent), first = pending.length;
	let at = start, i = 0;
	for (; i < nodes.length && at <= view.to && widths[i] * view.scale >= 1; i++) {
		if (at + widths[i] >= view.from)
			pending.push({ node: nodes[i], depth, start: at, width: widths[i] });
		at += widths[i];
	}
	// Widest first: whatever is thin comes last, in one piece.
	const rest = start + sum - at;
	if (i < nodes.length && at <= view.to && at + rest >= view.from && rest * view.scale >= 0.25)
		pending.push({ node: -1, depth, start: at, width: rest });
	for (let low = first, high = pending.length - 1; low < high; low++, high--)
		[pending[low], pending[high]] = [pending[high], pending[low]];
}

// The index in a row of the rectangle at x, or -1.
function findInRow(row, x) {
	let low = 0, high = row.x.length - 1;
	while (low <= high) {
		const middle = (low + high) >> 1;
		if (x < row.x[middle])
			high = middle - 1;
		else if (x >= row.x[middle] + row.w[middle])
			low = middle + 1;
		else
			return middle;
	}
	return -1;
}
