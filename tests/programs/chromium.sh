# SPDX-License-Identifier: BSD-3-Clause
about="chromium, headless: its zygote, which must be alone, its processes and threads; scripts, a worker, a canvas"
packages="chromium"
needs="chromium"
interval=512
# Its malloc is its own, and comes before any other: the heap mode has nothing, and says so. So are its crashes and SIGUSR2.
more=(CPROF_SIGNAL=none)
at_least heap 0
at_least lock 1
# Code that V8 generated.
incomplete=5

prepare() {
	cat >page.html <<'EOF'
<html><body><canvas id=c width=300 height=300></canvas><p id=p></p><p id=w></p><script>
let s = 0;
for (let i = 0; i < 3e6; i++) s += Math.sqrt(i);
const m = new Map();
for (let i = 0; i < 2e5; i++) m.set('k' + i, { i });
document.getElementById('p').textContent = Math.round(s) + ' ' + m.size;
const x = document.getElementById('c').getContext('2d');
for (let i = 0; i < 2000; i++) { x.fillStyle = 'rgb(' + i % 255 + ',0,0)'; x.fillRect(i % 300, i / 10, 5, 5); }
const w = new Worker(URL.createObjectURL(new Blob(['let a = []; for (let i = 0; i < 1e5; i++) a.push({ i }); postMessage(a.length)'])));
w.onmessage = e => { document.getElementById('w').textContent = e.data; };
</script></body></html>
EOF
}

load() {
	# As root it runs without its sandbox only.
	sandbox=
	[ "$(id -u)" != 0 ] || sandbox=--no-sandbox
	run chromium --headless $sandbox --disable-gpu --user-data-dir="$PWD/data" --virtual-time-budget=3000 \
		--dump-dom "file://$shared/page.html" 2>"$work/chromium.err"
	echo "status $?"
}

verify() {
	has cpu 'v8::internal::|ChromeMain'
}
