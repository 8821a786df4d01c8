// SPDX-License-Identifier: BSD-3-Clause
// Two trees over the same sums, with one interface: children(node) is { nodes, widths, sum }, widest
// first; width(node), value(node), base(node), self(node), frame(node), inlined(node), parent(node).
// Children are found and sorted when first asked for, so only what is wide enough to be seen costs
// anything. Node 0 is all samples.
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

// Callers above, callees below: the nodes as they came.
class CallTree {
	constructor(profile, sums, widthOfBase) {
		this.nodes = profile.nodes;
		this.sums = sums;
		this.widthOfBase = widthOfBase;
		this.sorted = new Map();
		this.parents = new Map([[0, -1]]);
	}

	*childrenAsTheyCome(node) {
		const { end } = this.nodes;
		for (let child = node + 1; child < end[node]; child = end[child])
			yield child;
	}

	children(node) {
		let list = this.sorted.get(node);
		if (!list) {
			list = byWidth(this.childrenAsTheyCome(node), child => this.width(child), child => this.frame(child));
			this.sorted.set(node, list);
		}
		return list;
	}

	// The way down from the root tells the parents of all that it passes.
	parent(node) {
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

	width(node) { return this.widthOfBase ? this.sums.base(node) : this.sums.total(node); }
	value(node) { return this.sums.total(node); }
	base(node) { return this.sums.base(node); }
	self(node) { return this.sums.self(node); }
	frame(node) { return this.nodes.mark[node] >> 1; }
	inlined(node) { return (this.nodes.mark[node] & 1) === 1; }
}

// First the functions that samples ended in, below them their callers. A node holds the nodes of
// the call tree that its stacks have reached; no two of them have the same parent, so none needs
// merging.
class CallerTree {
	constructor(profile, sums, widthOfBase) {
		this.nodes = profile.nodes;
		this.parents = profile.parents;
		this.widthOfBase = widthOfBase;
		this.list = [];
		this.add(-1, -1);
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

	add(parent, frame) {
		this.list.push({ parent, frame, value: 0, base: 0, inlined: true, at: [], values: [], bases: [], children: null });
		return this.list.length - 1;
	}

	place(children, parent, at, value, base) {
		const mark = this.nodes.mark[at], frame = mark >> 1;
		let index = children.get(frame);
		if (index === undefined) {
			index = this.add(parent, frame);
			children.set(frame, index);
		}
		const node = this.list[index];
		node.value += value;
		node.base += base;
		node.inlined = node.inlined && (mark & 1) === 1;
		node.at.push(at);
		node.values.push(value);
		node.bases.push(base);
	}

	close(index, children) {
		this.list[index].children = byWidth(children.values(), child => this.width(child), child => this.frame(child));
	}

	children(index) {
		const node = this.list[index];
		if (!node.children) {
			const children = new Map();
			for (let i = 0; i < node.at.length; i++) {
				const caller = this.parents[node.at[i]];
				if (caller > 0)
					this.place(children, index, caller, node.values[i], node.bases[i]);
			}
			node.at = node.values = node.bases = null;
			this.close(index, children);
		}
		return node.children;
	}

	width(index) { return this.widthOfBase ? this.list[index].base : this.list[index].value; }
	value(index) { return this.list[index].value; }
	base(index) { return this.list[index].base; }
	frame(index) { return this.list[index].frame; }
	inlined(index) { return this.list[index].inlined; }
	parent(index) { return this.list[index].parent; }

	// Of what passed here, that which nothing of the profile called.
	self(index) {
		return this.value(index) - this.children(index).nodes.reduce((sum, child) => sum + this.value(child), 0);
	}
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
function layOut(tree, from, to, pixels) {
	const rows = [], view = { from, to, scale: pixels / (to - from) };
	// Depth first and left to right: each row fills in order.
	const pending = [{ node: 0, depth: 0, start: 0, width: tree.width(0) }];
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
