# SPDX-License-Identifier: BSD-3-Clause
"""usage: memcached-load.py PORT [BIG-BYTES]

Eight clients of a memcached on the loopback interface write and read one key by turns, count each its own,
and, with BIG-BYTES, fill it with values so large, until it throws out old ones. Prints what each was answered.
"""
import hashlib, socket, sys, threading

big_bytes = int(sys.argv[2]) if len(sys.argv) > 2 else 0
answers = [None] * 8


def client(i):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    f, h = s.makefile("rwb"), hashlib.sha1()
    for n in range(150):
        f.write((b"set key 0 0 5\r\nhello\r\nget key\r\n" + b"incr count%d 1\r\n" % i) * 50)
        if big_bytes:
            f.write(b"set big%d 0 0 %d\r\n%s\r\n" % (n * 8 + i, big_bytes, b"x" * big_bytes))
        f.flush()
        for line in range(5 * 50 + bool(big_bytes)):
            h.update(f.readline())
    answers[i] = h.hexdigest()


threads = [threading.Thread(target=client, args=(i,)) for i in range(8)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(answers)
