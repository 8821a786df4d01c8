/* SPDX-License-Identifier: BSD-3-Clause */
/* The page of processes: the table and the flame graph of the process that is looked at, both
 * refreshed while the page is visible. What is looked at is in the address: #pid=12&mode=cpu. */
"use strict";
(function () {
	const TABLE_MS = 5000, LOOK_MS = 10000;
	const frames = document.getElementById("frames"), said = document.getElementById("said");
	const OFFERED = { cpu: "CPU time", wall: "Wall time", heap: "Memory", lock: "Locks", io: "Input and output" };
	const clicked = new Set();
	let shown = null, asked = 0;

	function chosen() {
		const p = new URLSearchParams(location.hash.slice(1));
		const pid = p.get("pid"), mode = p.get("mode");

		return pid && mode ? { pid: pid, mode: mode } : null;
	}

	/* Without a choice: the first process that has a mode on, in that mode. */
	function proposed() {
		const link = document.querySelector("tr[data-modes]:not([data-modes='']) .looks a.on");

		return link ? { pid: link.dataset.pid, mode: link.dataset.mode } : null;
	}

	function mark() {
		for (const row of document.querySelectorAll("tr[data-pid]"))
			row.classList.toggle("shown", shown !== null && row.dataset.pid === shown.pid);
	}

	function isThere(look) {
		return document.querySelector("tr[data-pid='" + look.pid.replace(/\D/g, "") + "']") !== null;
	}

	/* Another site can send the browser here with any address. So a mode is turned on only if the user has clicked on
	 * it. */
	function mayLook(look) {
		const link = document.querySelector("a.on[data-pid='" + look.pid.replace(/\D/g, "") + "'][data-mode='" + look.mode.replace(/\W/g, "") + "']");

		return link !== null || clicked.has(look.pid + " " + look.mode);
	}

	/* Loads the graph beside the one that is shown, with what is looked at in it, and then takes its place. */
	function load() {
		const old = frames.querySelector("iframe.now"), next = document.createElement("iframe");
		const look = shown, number = ++asked;
		let hash = "";

		try {
			hash = old && old.contentWindow ? old.contentWindow.location.hash : "";
		} catch (e) {
			hash = "";
		}
		next.title = "Flame graph";
		next.src = "/pid/" + encodeURIComponent(look.pid) + "/flame?mode=" + encodeURIComponent(look.mode) + hash;
		next.style.visibility = "hidden";
		next.addEventListener("load", function () {
			if (number !== asked) {
				next.remove();
				return;
			}
			for (const frame of frames.querySelectorAll("iframe.now"))
				frame.remove();
			next.className = "now";
			next.style.visibility = "";
			said.textContent = "Process " + look.pid + ", " + look.mode + ": the last minute, at most; refreshed every 10 seconds.";
		});
		frames.append(next);
	}

	/* One process of which nothing is recorded: what there is to see, in place of the graph. */
	function offer() {
		const rows = document.querySelectorAll("tr[data-pid]"), offered = document.createElement("p");

		said.textContent = rows.length ? "Choose a process and a mode: looking turns the mode on." : "No process answers.";
		if (rows.length !== 1)
			return;
		said.textContent = "";
		offered.append("Nothing is recorded of " + rows[0].cells[1].textContent + " (" + rows[0].dataset.pid + ") yet. Record and show:", document.createElement("br"));
		for (const link of rows[0].querySelectorAll("a[data-mode]")) {
			if (!OFFERED[link.dataset.mode])
				continue;
			const copy = link.cloneNode();
			copy.textContent = OFFERED[link.dataset.mode];
			offered.append(copy);
		}
		frames.replaceChildren(offered);
	}

	function look() {
		const wanted = chosen() || shown || proposed();

		if (!wanted) {
			offer();
			return;
		}
		if (!isThere(wanted)) {
			said.textContent = "Process " + wanted.pid + " has ended, or does not answer.";
			return;
		}
		if (!mayLook(wanted)) {
			said.textContent = "Process " + wanted.pid + ": " + wanted.mode + " is off. Click on it in the table: looking turns it on.";
			return;
		}
		if (!shown || shown.pid !== wanted.pid || shown.mode !== wanted.mode) {
			frames.replaceChildren();
			said.textContent = "Recording process " + wanted.pid + ", " + wanted.mode + ": the first graph comes after 3 seconds.";
		}
		shown = wanted;
		mark();
		load();
	}

	async function refresh() {
		if (document.hidden)
			return;
		try {
			const reply = await fetch("/");
			const text = await reply.text();
			const page = new DOMParser().parseFromString(text, "text/html");

			if (!reply.ok)
				throw new Error(text);
			document.querySelector("tbody").replaceWith(page.querySelector("tbody"));
			document.getElementById("count").textContent = page.getElementById("count").textContent;
			mark();
		} catch (e) {
			document.getElementById("count").textContent = "cprof serve does not answer";
		}
	}

	document.addEventListener("click", function (e) {
		const link = e.isTrusted && e.target.closest("a[data-mode]");

		if (!link)
			return;
		clicked.add(link.dataset.pid + " " + link.dataset.mode);
		if (location.hash === new URL(link.href).hash)
			look();
	});
	window.addEventListener("hashchange", look);
	setInterval(refresh, TABLE_MS);
	setInterval(function () {
		if (!document.hidden && (shown || proposed()))
			look();
	}, LOOK_MS);
	look();
})();
