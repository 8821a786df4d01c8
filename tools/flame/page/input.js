// SPDX-License-Identifier: BSD-3-Clause
// Mouse, wheel and keys; and the start.
'use strict';

const WHEEL_STEP = 0.0022, KEY_ZOOM = 1.6, KEY_PAN = 0.15, DRAG_PIXELS = 4;

function connectChoices(page, panels) {
	byId('type').addEventListener('change', event => { page.type = Number(event.target.value); page.changed(page.pathFrames()); });
	byId('compare').addEventListener('change', event => { page.shares = event.target.value === 'shares'; page.changed(page.pathFrames()); });
	byId('width').addEventListener('change', event => { page.widthOfBase = event.target.value === 'base'; page.changed(page.pathFrames()); });
	byId('filter').addEventListener('change', event => {
		const chosen = panels.filterChoices[event.target.value];
		if (chosen && !page.filters.some(f => f.key === chosen.key && f.value === chosen.value))
			page.filters.push(chosen);
		page.changed(page.pathFrames());
	});
	byId('chips').addEventListener('click', event => {
		const button = event.target.closest('button');
		if (button && !button.dataset.index) {
			page.setWindow(null);
		} else if (button) {
			page.filters.splice(Number(button.dataset.index), 1);
			page.changed(page.pathFrames());
			byId('filter').focus();
		}
	});
	byId('path').addEventListener('click', event => {
		const button = event.target.closest('button');
		if (button && button.dataset.node)
			page.zoomTo(Number(button.dataset.node));
		else if (button)
			page.showFunction(-1);
	});
}

// Arrows go from tab to tab, as the pattern for tabs has it.
function connectTabs(page) {
	const tabs = byId('tabs');
	tabs.addEventListener('click', event => {
		const tab = event.target.closest('button');
		if (tab)
			page.showTab(Number(tab.dataset.index));
	});
	tabs.addEventListener('keydown', event => {
		const along = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
		if (!along)
			return;
		const count = tabs.children.length, index = (page.tabIndex + along + count) % count;
		page.showTab(index);
		tabs.children[index].focus();
		event.preventDefault();
		event.stopPropagation();
	});
}

function makeActions(page, panels) {
	const turn = upwards => {
		page.canvas.upwards = upwards;
		panels.refreshLook();
		page.relayout();
		page.canvas.reveal(0);
		page.history.write(true);
	};
	// A panel that a button opens and closes.
	const toggle = (button, panel) => {
		byId(panel).hidden = !byId(panel).hidden;
		byId(button).setAttribute('aria-expanded', !byId(panel).hidden);
	};
	const themes = { auto: 'light', light: 'dark', dark: 'auto' };
	return {
		callers() { page.callers = !page.callers || page.sandwich >= 0; page.sandwich = -1; page.changed([]); },
		// Without a function to show: a list of them to choose from.
		sandwich() {
			const frame = page.sandwich >= 0 ? -1 : page.tree.frame(page.focus >= 0 ? page.focus : page.zoomed);
			if (frame >= 0 || page.sandwich >= 0)
				page.showFunction(frame);
			else if (byId('table').hidden)
				this.functions();
		},
		runtime() { const path = page.pathFrames(); page.unfolded = !page.unfolded; page.changed(path); },
		icicle() { turn(false); },
		flame() { turn(true); },
		flip() { turn(!page.canvas.upwards); },
		functions() {
			const table = byId('table');
			table.hidden = !table.hidden;
			byId('functions').setAttribute('aria-pressed', !table.hidden);
			if (page.timeShown && panels.spansShown && !table.hidden)
				this.spanTable();
			panels.refreshTable();
		},
		// It has the place of the table of functions.
		spanTable() {
			panels.spansShown = !panels.spansShown;
			if (panels.spansShown && !byId('table').hidden)
				this.functions();
			panels.refreshSpans();
		},
		theme() { page.theme = themes[page.theme]; page.colours = []; panels.refreshLook(); page.redraw(); },
		reset() { page.zoomTo(0); },
		help() { toggle('help', 'keys'); },
		about() { toggle('about', 'details'); },
		menu() {
			const open = byId('tools').classList.toggle('open');
			byId('menu').setAttribute('aria-expanded', open);
		},
	};
}

function connectSearch(page, panels) {
	const field = byId('search');
	const run = () => page.search(field.value);
	field.addEventListener('input', run);
	field.addEventListener('keydown', event => {
		if (event.key === 'Enter' || event.key === 'Escape') {
			if (event.key === 'Escape') {
				field.value = '';
				run();
			} else {
				page.focus = -1;
			}
			byId('graph').focus();
			page.focusMatch(1);
			event.preventDefault();
		}
		event.stopPropagation();
	});
	byId('table').addEventListener('click', event => {
		const button = event.target.closest('button');
		if (!button)
			return;
		if (button.dataset.by) {
			panels.sortBy = button.dataset.by;
			panels.refreshTable();
		} else {
			page.showFunction(Number(button.dataset.frame));
		}
	});
}

function connectMouse(page, panels, graph) {
	let pressed = null, dragged = false;
	const under = event => {
		const box = graph.getBoundingClientRect();
		return page.canvas.at(event.clientX - box.left, event.clientY - box.top);
	};
	graph.addEventListener('pointerdown', event => { pressed = event.clientX; dragged = false; });
	addEventListener('pointerup', () => { pressed = null; });
	graph.addEventListener('pointermove', event => {
		if (pressed !== null && (event.buttons & 1)) {
			const moved = event.clientX - pressed;
			if (dragged || Math.abs(moved) >= DRAG_PIXELS) {
				dragged = true;
				pressed = event.clientX;
				panels.hideTip();
				page.pan(-moved / page.canvas.width);
			}
			return;
		}
		const hit = under(event);
		if (hit && hit.node >= 0 && event.pointerType !== 'touch')
			panels.showTip(hit.node, event.clientX, graph.getBoundingClientRect().top + page.canvas.rowTop(hit.row));
		else
			panels.hideTip();
	});
	graph.addEventListener('pointerleave', () => panels.hideTip());
	graph.addEventListener('click', event => {
		const hit = under(event);
		if (hit && hit.node >= 0 && !dragged) {
			panels.hideTip();
			page.open(hit.node);
		}
	});
	graph.addEventListener('wheel', event => connectWheel(page, panels, graph, event), { passive: false });
}

// Without Ctrl the wheel scrolls, as everywhere; sideways it moves along.
function connectWheel(page, panels, graph, event) {
	const box = graph.getBoundingClientRect();
	panels.hideTip();
	if (event.ctrlKey || event.metaKey) {
		event.preventDefault();
		const pixels = event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY;
		page.zoomAround((event.clientX - box.left) / box.width, Math.exp(-pixels * WHEEL_STEP));
	} else if (event.deltaX || event.shiftKey) {
		event.preventDefault();
		page.pan((event.deltaX || event.deltaY) / box.width);
	}
}

function connectKeys(page, panels, actions, graph) {
	const middle = () => {
		const place = page.canvas.placeOf(page.focus);
		return place ? (place.x + place.w / 2) / page.canvas.width : 0.5;
	};
	// Down the screen is away from the root, unless the root is at the bottom.
	const vertical = rows => page.moveFocus(page.canvas.upwards ? -rows : rows, 0);
	const onGraph = {
		ArrowUp: () => vertical(-1),
		ArrowDown: () => vertical(1),
		ArrowLeft: event => event.shiftKey ? page.pan(-KEY_PAN) : page.moveFocus(0, -1),
		ArrowRight: event => event.shiftKey ? page.pan(KEY_PAN) : page.moveFocus(0, 1),
		Enter: () => { if (page.focus >= 0) page.open(page.focus); },
		' ': () => { if (page.focus >= 0) page.open(page.focus); },
	};
	const anywhere = {
		Escape: () => page.zoomOut(), Backspace: () => page.zoomOut(),
		Home: actions.reset, 0: actions.reset,
		'+': () => page.zoomAround(middle(), KEY_ZOOM), '=': () => page.zoomAround(middle(), KEY_ZOOM),
		'-': () => page.zoomAround(middle(), 1 / KEY_ZOOM),
		'/': () => byId('search').focus(),
		n: () => page.focusMatch(1), N: () => page.focusMatch(-1),
		...Object.fromEntries(Object.entries({ c: 'callers', s: 'sandwich', r: 'runtime', f: 'flip', l: 'functions', p: 'spanTable', t: 'theme', '?': 'help', i: 'about' })
			.map(([key, id]) => [key, () => actions[id]()])),
	};
	addEventListener('keydown', event => {
		if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, select'))
			return;
		const below = page.timeShown && event.target === graph;
		if (page.timeShown && !below && page.timeline.key(event)) {
			panels.hideTip();
			event.preventDefault();
			return;
		}
		if (page.timeShown && !below && !['/', 'l', 't', '?', 'i', 'p'].includes(event.key))
			return;
		const action = (event.target === graph && onGraph[event.key]) || anywhere[event.key];
		if (action) {
			panels.hideTip();
			event.preventDefault();
			if ('nN'.includes(event.key))
				graph.focus();
			action(event);
		}
	});
	for (const type of ['focus', 'blur'])
		graph.addEventListener(type, () => { panels.refreshStatus(); page.redraw(); });
}

// The tab Time: the wheel zooms, a drag selects, a click shows an event, a double click its window.
function connectTime(page, panels) {
	const lanes = byId('lanes'), strips = byId('strips'), line = () => page.timeline;
	const place = (event, canvas) => (box => [event.clientX - box.left, event.clientY - box.top])(canvas.getBoundingClientRect());
	const under = (event, canvas) => line().hit(canvas, ...place(event, canvas));
	let pressed = null, dragged = false;
	for (const canvas of [lanes, strips]) {
		canvas.addEventListener('pointerdown', event => {
			const [x] = place(event, canvas);
			dragged = false;
			pressed = x >= line().gutter && event.button === 0 ? x : null;
		});
		canvas.addEventListener('pointermove', event => {
			const [x] = place(event, canvas);
			if (pressed !== null && (event.buttons & 1) && (line().drag || Math.abs(x - pressed) >= DRAG_PIXELS)) {
				canvas.setPointerCapture(event.pointerId);
				panels.hideTip();
				line().drag = { from: line().when(pressed), to: line().when(Math.max(x, line().gutter)) };
				page.redraw();
				return;
			}
			const { found, when } = under(event, canvas);
			if (event.pointerType === 'touch' || x < line().gutter)
				panels.hideTip();
			else
				panels.showLines(found ? line().linesOf(found) : [`${secondsText(Math.round(when / 1e6) * 1e6)} s`, line().clock(when)], event.clientX, event.clientY);
		});
		canvas.addEventListener('pointerleave', () => panels.hideTip());
		canvas.addEventListener('pointercancel', () => { pressed = line().drag = null; page.redraw(); });
		// After a drag by touch there is no click.
		canvas.addEventListener('pointerup', () => {
			const { drag } = line();
			[pressed, line().drag, dragged] = [null, null, Boolean(drag)];
			if (drag)
				line().choose(Math.min(drag.from, drag.to), Math.max(drag.from, drag.to));
		});
		canvas.addEventListener('click', event => {
			const { row, index, found } = under(event, canvas);
			if (dragged)
				return undefined;
			line().focus = index >= 0 ? index : line().focus;
			return row && row.fold ? line().toggleIdle() : line().select(found);
		});
		canvas.addEventListener('dblclick', () => {
			if (line().selected)
				line().chooseSelected();
		});
		canvas.addEventListener('wheel', event => {
			const [x] = place(event, canvas);
			if (x < line().gutter)
				return;
			event.preventDefault();
			panels.hideTip();
			if (event.deltaX || event.shiftKey)
				line().pan((event.deltaX || event.deltaY) / line().plot);
			else
				line().zoom(x, Math.exp(-(event.deltaMode === 1 ? event.deltaY * 16 : event.deltaY) * WHEEL_STEP));
		}, { passive: false });
	}
	byId('lanes-scroller').addEventListener('scroll', () => { panels.hideTip(); page.redraw(); });
	for (const type of ['focus', 'blur'])
		lanes.addEventListener(type, () => { panels.refreshStatus(); page.redraw(); });
	const middle = () => line().gutter + line().plot / 2;
	byId('zoom-in').addEventListener('click', () => line().zoom(middle(), KEY_ZOOM));
	byId('zoom-out').addEventListener('click', () => line().zoom(middle(), 1 / KEY_ZOOM));
	byId('zoom-window').addEventListener('click', () => line().zoomToWindow());
	byId('clear-window').addEventListener('click', () => page.setWindow(null));
	byId('below-tab').addEventListener('change', event => page.showProfile(Number(event.target.value)));
	byId('spans').addEventListener('click', event => {
		const button = event.target.closest('button');
		if (button)
			line().chooseSpan(panels.slowest[Number(button.dataset.index)].slowest);
	});
	new ResizeObserver(() => { if (page.timeShown) page.drawNow(); }).observe(byId('lanes-scroller'));
}

function start() {
	const graph = byId('graph'), scroller = byId('scroller');
	const canvas = new Canvas(graph, scroller, byId('spacer'));
	const page = new Page(decodeProfile(byId('profile').textContent), canvas);
	const panels = page.panels = new Panels(page);
	const actions = makeActions(page, panels);
	const pageHistory = page.history = new History(page);
	for (const id of Object.keys(actions)) {
		if (byId(id))
			byId(id).addEventListener('click', () => actions[id]());
	}
	connectChoices(page, panels);
	connectTabs(page);
	connectSearch(page, panels);
	connectMouse(page, panels, graph);
	connectKeys(page, panels, actions, graph);
	connectTime(page, panels);
	scroller.addEventListener('scroll', () => { panels.hideTip(); page.redraw(); });
	// A canvas of another size is empty until it is drawn, so that can't wait for the next frame.
	new ResizeObserver(() => { canvas.measure(); page.relayout(); page.drawNow(); }).observe(scroller);
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
		page.colours = [];
		panels.refreshLook();
		page.redraw();
	});
	pageHistory.read();
	window.cprofFlame = page;
}

start();
