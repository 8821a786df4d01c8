// SPDX-License-Identifier: BSD-3-Clause
// The canvas: draws the rows that are in sight, and knows what lies under a point.
'use strict';

const ROW_HEIGHT = 19;
const MARK_WIDTH = 56; // narrower frames have room for letters only
const FONT = '12px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace';

// The first of the labels for which there is room, else what fits of the shortest.
function fitting(labels, room) {
	const last = labels[labels.length - 1];
	return labels.find(label => label.length <= room) || last.slice(0, room - 1) + '\u2026';
}

class Canvas {
	constructor(canvas, scroller, spacer) {
		this.canvas = canvas;
		this.scroller = scroller;
		this.spacer = spacer;
		this.context = canvas.getContext('2d', { alpha: false });
		this.rows = [];
		this.colours = new Map();
		this.upwards = false;
		this.measure();
	}

	// As many device pixels as the screen has, whatever the zoom of the browser.
	measure() {
		const ratio = window.devicePixelRatio || 1;
		this.width = this.scroller.clientWidth;
		this.height = this.scroller.clientHeight;
		this.canvas.width = Math.round(this.width * ratio);
		this.canvas.height = Math.round(this.height * ratio);
		this.canvas.style.width = `${this.width}px`;
		this.canvas.style.height = `${this.height}px`;
		this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
		this.context.font = FONT;
		this.letter = this.context.measureText('m').width;
	}

	setRows(rows) {
		this.rows = rows;
		this.spacer.style.height = `${Math.max(rows.length * ROW_HEIGHT + 4, this.height)}px`;
	}

	rowTop(row) {
		const from = this.upwards ? this.spacer.offsetHeight - (row + 1) * ROW_HEIGHT : row * ROW_HEIGHT;
		return from - this.scroller.scrollTop;
	}

	// state: { look, colourOf(node), labelsOf(node), inlinedAt(node), dimmed(node), focus, empty }
	draw(state) {
		const context = this.context;
		context.fillStyle = state.look.back;
		context.fillRect(0, 0, this.width, this.height);
		context.textBaseline = 'middle';
		context.direction = 'ltr';
		for (let row = 0; row < this.rows.length; row++) {
			const top = this.rowTop(row);
			if (top > -ROW_HEIGHT && top < this.height)
				this.drawRow(this.rows[row], top, state);
		}
		context.fillStyle = state.look.faint;
		if (!this.rows.length)
			this.drawWideText(state.empty, 12, ROW_HEIGHT, this.width - 24);
		this.drawFocus(state);
	}

	drawRow(row, top, state) {
		const context = this.context, { look } = state;
		let colour = '';
		for (let i = 0; i < row.x.length; i++) {
			const node = row.node[i];
			const next = node < 0 ? look.thin : state.colourOf(node);
			if (next !== colour)
				context.fillStyle = colour = next;
			// A line of the background between neighbours, where there is room for it.
			context.fillRect(row.x[i], top, row.w[i] > 3 ? row.w[i] - 1 : row.w[i], ROW_HEIGHT - 1);
		}
		for (let i = 0; i < row.x.length; i++) {
			if (row.node[i] >= 0 && row.w[i] > 20)
				this.drawLabel(row.x[i], top, row.w[i], row.node[i], state);
		}
	}

	drawLabel(x, top, width, node, state) {
		const context = this.context, inlined = width > MARK_WIDTH && state.inlinedAt(node);
		if (inlined)
			this.drawInlineMark(x, top, state.look);
		const indent = inlined ? 9 : 4;
		const room = Math.floor((width - indent - 3) / this.letter);
		if (room < 2)
			return;
		context.fillStyle = state.look.text;
		context.globalAlpha = state.dimmed(node) ? 0.55 : 1;
		const text = fitting(state.labelsOf(node), room);
		// eslint-disable-next-line no-control-regex
		if (/^[\u0000-\u00ff\u2026]*$/.test(text))
			context.fillText(text, x + indent, top + ROW_HEIGHT / 2);
		else
			this.drawWideText(text, x + indent, top, width - indent - 2);
		context.globalAlpha = 1;
	}

	// Letters whose width isn't known ahead.
	drawWideText(text, x, top, width) {
		const context = this.context;
		context.save();
		context.beginPath();
		context.rect(x, top, width, ROW_HEIGHT);
		context.clip();
		context.fillText(text, x, top + ROW_HEIGHT / 2);
		context.restore();
	}

	// A notch at the left: the frame has no call of its own.
	drawInlineMark(x, top, look) {
		const context = this.context;
		context.fillStyle = look.faint;
		context.beginPath();
		context.moveTo(x + 1, top + 5);
		context.lineTo(x + 6, top + ROW_HEIGHT / 2 - 0.5);
		context.lineTo(x + 1, top + ROW_HEIGHT - 6);
		context.fill();
	}

	drawFocus({ focus, look }) {
		const place = this.placeOf(focus);
		if (!place)
			return;
		this.context.strokeStyle = look.focus;
		this.context.lineWidth = 2;
		this.context.strokeRect(place.x + 1, place.top + 1, Math.max(place.w - 3, 2), ROW_HEIGHT - 3);
	}

	// Where a node is drawn, relative to the canvas, or null.
	placeOf(node) {
		for (let row = 0; row < this.rows.length; row++) {
			const i = this.rows[row].node.indexOf(node);
			if (i >= 0 && node >= 0)
				return { row, x: this.rows[row].x[i], w: this.rows[row].w[i], top: this.rowTop(row) };
		}
		return null;
	}

	// { node, row } under a point of the canvas; node is -1 where several are too thin.
	at(x, y) {
		const offset = y + this.scroller.scrollTop;
		const row = Math.floor((this.upwards ? this.spacer.offsetHeight - offset : offset) / ROW_HEIGHT);
		if (row < 0 || row >= this.rows.length)
			return null;
		const i = findInRow(this.rows[row], x);
		return i < 0 ? null : { node: this.rows[row].node[i], row, width: this.rows[row].w[i] };
	}

	// Scrolls so that a row which isn't near the top has what belongs to it above and below.
	centre(place) {
		this.scroller.scrollTop += place ? place.top - this.height / 2 : 0;
	}

	reveal(row) {
		const top = this.rowTop(row);
		if (top < 0)
			this.scroller.scrollTop += top;
		else if (top + ROW_HEIGHT > this.height)
			this.scroller.scrollTop += top + ROW_HEIGHT - this.height;
	}
}
