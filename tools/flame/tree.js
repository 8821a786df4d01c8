// Two trees over the same sums, with one interface: children(node) widest first, width(node),
// frame(node), parent(node), value(node) and base(node). Children are sorted when first asked
// for, so only what is wide enough to be seen costs anything. Node 0 is all samples.
'use strict';

function byWidth(tree) {
	return (a, b) => tree.width(b) - tree.width(a) || tree.frame(a) - tree.frame(b);
}

// Callers above, callees below: the nodes as they came.
class CallTree {
	constructor(profile, sums, widthOfBase) {
		this.nodes = profile.nodes;
		this.sums = sums;
		this.widths = widthOfBase ? sums.baseTotal : sums.total;
		this.sorted = new Map();
		this.firstChild = this.countChildren();
	}

	// Children of a node lie between firstChild[node] and firstChild[node + 1] of this.child.
	countChildren() {
		const { parent } = this.nodes, count = parent.length;
		const first = new Int32Array(count + 2);
		for (let i = 1; i < count; i++)
			first[parent[i] + 2]++;
		for (let i = 2; i < count + 2; i++)
			first[i] += first[i - 1];
		this.child = new Int32Array(count);
		for (let i = 1; i < count; i++)
			this.child[first[parent[i] + 1]++] = i;
		return first;
	}

	children(node) {
		let list = this.sorted.get(node);
		if (!list) {
			list = this.child.subarray(this.firstChild[node], this.firstChild[node + 1]);
			list = list.filter(child => this.widths[child] > 0).sort(byWidth(this));
			this.sorted.set(node, list);
		}
		return list;
	}

	width(node) { return this.widths[node]; }
	value(node) { return this.sums.total[node]; }
	base(node) { return this.sums.baseTotal[node]; }
	self(node) { return this.sums.self[node]; }
	frame(node) { return this.nodes.frame[node]; }
	parent(node) { return this.nodes.parent[node]; }
}

// The functions that samples ended in first, below them who called. A node holds the nodes of the
// call tree at which its stacks stand; no two of them have the same parent, so none needs merging.
class CallerTree {
	constructor(profile, sums, widthOfBase) {
		this.nodes = profile.nodes;
		this.widthOfBase = widthOfBase;
		this.list = [];
		this.add(-1, -1);
		const root = this.list[0], { frame } = profile.nodes;
		const ends = new Map();
		for (let i = 0; i < frame.length; i++) {
			if (sums.self[i] > 0 || sums.baseSelf[i] > 0) {
				root.value += sums.self[i];
				root.base += sums.baseSelf[i];
				if (i > 0)
					this.place(ends, 0, i, sums.self[i], sums.baseSelf[i]);
			}
		}
		this.close(0, ends);
	}

	add(parent, frame) {
		this.list.push({ parent, frame, value: 0, base: 0, at: [], values: [], bases: [], children: null });
		return this.list.length - 1;
	}

	place(children, parent, at, value, base) {
		const frame = this.nodes.frame[at];
		let index = children.get(frame);
		if (index === undefined) {
			index = this.add(parent, frame);
			children.set(frame, index);
		}
		const node = this.list[index];
		node.value += value;
		node.base += base;
		node.at.push(at);
		node.values.push(value);
		node.bases.push(base);
	}

	close(index, children) {
		this.list[index].children = [...children.values()].filter(c => this.width(c) > 0).sort(byWidth(this));
	}

	children(index) {
		const node = this.list[index];
		if (!node.children) {
			const children = new Map();
			for (let i = 0; i < node.at.length; i++) {
				const caller = this.nodes.parent[node.at[i]];
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
	parent(index) { return this.list[index].parent; }

	// Of what passed here, that which nothing of the profile called.
	self(index) {
		return this.value(index) - this.children(index).reduce((sum, child) => sum + this.value(child), 0);
	}
}

// Where a node begins, in the unit of widths.
function startOf(tree, node) {
	let start = 0;
	for (let at = node; tree.parent(at) >= 0; at = tree.parent(at)) {
		for (const sibling of tree.children(tree.parent(at))) {
			if (sibling === at)
				break;
			start += tree.width(sibling);
		}
	}
	return start;
}

function depthOf(tree, node) {
	let depth = 0;
	for (let at = node; tree.parent(at) >= 0; at = tree.parent(at))
		depth++;
	return depth;
}

// Rectangles of what lies between `from` and `to`, row by row: { x, w, node } arrays in pixels,
// left to right. What is narrower than a pixel is put together with its neighbours (node -1), so
// that there are never more rectangles in a row than pixels.
function layOut(tree, from, to, pixels) {
	const rows = [], scale = pixels / (to - from);
	// Depth first and left to right: each row fills in order.
	const pending = [{ node: 0, depth: 0, start: 0, width: tree.width(0) }];
	while (pending.length) {
		const { node, depth, start, width } = pending.pop();
		if (rows.length <= depth)
			rows.push({ x: [], w: [], node: [] });
		const left = Math.max((start - from) * scale, 0);
		const right = Math.min((start + width - from) * scale, pixels);
		rows[depth].x.push(left);
		rows[depth].w.push(right - left);
		rows[depth].node.push(node);
		if (node >= 0)
			pending.push(...visibleChildren(tree, node, depth, start, { from, to, scale }).reverse());
	}
	return rows;
}

function visibleChildren(tree, node, depth, start, view) {
	const visible = [], thin = { node: -1, depth: depth + 1, start: 0, width: 0 };
	let at = start;
	for (const child of tree.children(node)) {
		const width = tree.width(child);
		if (at > view.to)
			break;
		if (at + width >= view.from) {
			if (width * view.scale >= 1) {
				visible.push({ node: child, depth: depth + 1, start: at, width });
			} else {
				if (thin.width === 0)
					thin.start = at;
				thin.width += width;
			}
		}
		at += width;
	}
	// Widest first: whatever is thin comes last, in one piece.
	if (thin.width * view.scale >= 0.25)
		visible.push(thin);
	return visible;
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
