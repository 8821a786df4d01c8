# SPDX-License-Identifier: BSD-3-Clause
about="java: javac and a program of threads, locks, exceptions, collections, gc"
packages="openjdk-17-jdk-headless"
needs="java javac"
interval=4096
# The JVM has a handler for SIGUSR2, and a line would say so.
more=(CPROF_SIGNAL=none)
at_least lock 10
# Code that the JVM compiled keeps no frame pointer, unless -XX:+PreserveFramePointer says so.
incomplete=10

prepare() {
	cat >Work.java <<'EOF'
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;
public class Work {
	static int deep(int n) { return n == 0 ? 0 : 1 + deep(n - 1); }
	static final Object lock = new Object();
	static long shared;
	public static void main(String[] args) throws Exception {
		Map<String, Integer> count = new TreeMap<>();
		Random r = new Random(7);
		for (int i = 0; i < 60000; i++) count.merge("w" + r.nextInt(5000), 1, Integer::sum);
		System.out.println(count.entrySet().stream().sorted((a, b) -> b.getValue() - a.getValue()).limit(5).map(Object::toString).collect(Collectors.joining(",")));
		ExecutorService pool = Executors.newFixedThreadPool(4);
		List<Future<Long>> sums = new ArrayList<>();
		for (int t = 0; t < 8; t++) { int n = t; sums.add(pool.submit(() -> { long s = 0; for (int i = 0; i < 200000; i++) { s += i % (n + 3); if (i % 1000 == 0) synchronized (lock) { shared += 1; } } return s; })); }
		for (Future<Long> f : sums) System.out.println(f.get());
		pool.shutdown();
		System.out.println(pool.awaitTermination(20, TimeUnit.SECONDS) + " " + shared);
		System.out.println(LongStream.range(0, 500000).parallel().map(x -> x * x % 97).sum());
		int caught = 0;
		for (int i = 0; i < 5000; i++) try { if (i % 2 == 0) throw new IllegalStateException("x" + i); Object o = null; o.hashCode(); } catch (IllegalStateException | NullPointerException e) { caught++; }
		System.out.println(caught);
		try { deep(1 << 24); } catch (StackOverflowError e) { System.out.println("overflow"); }
		List<byte[]> garbage = new ArrayList<>();
		for (int i = 0; i < 6000; i++) { garbage.add(new byte[10000]); if (garbage.size() > 500) garbage.clear(); }
		System.gc();
		for (int i = 0; i < 200; i++) { Thread t = new Thread(() -> { synchronized (lock) { shared++; } }); t.start(); t.join(); }
		System.out.println(shared);
		Process p = new ProcessBuilder("sh", "-c", "exit 9").start();
		System.out.println(p.waitFor());
		System.exit(4);
	}
}
EOF
}

load() {
	run javac -d . "$shared/Work.java"
	echo "javac $?"
	run java -Xmx256m -XX:+UseSerialGC -cp . Work
	echo "status $?"
	run java -Xmx256m -XX:+UseG1GC -Xcheck:jni -cp . Work
	echo "status $?"
	run java -Xint -version 2>&1
}

verify() {
	has cpu 'libjvm.so|JavaThread|thread_native_entry|CompileBroker'
}
