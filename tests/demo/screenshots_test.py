#!/usr/bin/env python3
"""Makes a picture of each page of the inspector in the demo, under Xvfb, and looks at it.

Usage: screenshots_test.py CAIRN-DEMO FOLDER    FOLDER/PAGE.png: the inspector alone
Exit status 77: there is no Xvfb here, it gives no display, or the demo gets no window on it.
"""
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import zlib

PAGES = ["overview", "frames", "map", "sites", "mark", "malloc"]
LEFT, TOP, WIDTH, HEIGHT = 640, 20, 620, 460  # of the inspector in the window


def rows_of(bmp):
    """The rows of a bitmap of 24 bits a pixel, from the top, in the order blue, green, red."""
    begin, = struct.unpack_from("<I", bmp, 10)
    width, height = struct.unpack_from("<ii", bmp, 18)
    assert (width, height, bmp[28]) == (1280, 720, 24), "the picture has the size of the window"
    return [bmp[begin + (height - 1 - y) * width * 3:][:width * 3] for y in range(height)]


def inspector_in(rows):
    """The pixels of the inspector, in the order red, green, blue."""
    part = []
    for row in rows[TOP:TOP + HEIGHT]:
        pixels = bytearray(row[LEFT * 3:(LEFT + WIDTH) * 3])
        pixels[0::3], pixels[2::3] = pixels[2::3], pixels[0::3]
        part.append(bytes(pixels))
    return part


def write_png(file, rows):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 2, 0, 0, 0)
    data = zlib.compress(b"".join(b"\0" + row for row in rows), 9)
    file.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def leave(why):
    print(f"demo_screenshots: {why}, so no picture is made")
    sys.exit(77)


def picture_of(demo, page, folder, display):
    bmp = folder / f"{page}.bmp"
    words = ["--memory", "malloc", "--page", "frames"] if page == "malloc" else ["--page", page]
    environment = dict(os.environ, DISPLAY=f":{display}", SDL_VIDEODRIVER="x11", LIBGL_ALWAYS_SOFTWARE="1")
    done = subprocess.run([demo, "--screenshot", bmp, "--frames", "60", *words], env=environment, timeout=120)
    if done.returncode == 3:
        leave("the demo gets no window on the display of Xvfb")
    done.check_returncode()
    rows = inspector_in(rows_of(bmp.read_bytes()))
    bmp.unlink()
    write_png(folder / f"{page}.png", rows)
    return rows


def main():
    demo, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if shutil.which("Xvfb") is None:
        leave("there is no Xvfb here")
    folder.mkdir(parents=True, exist_ok=True)
    reader, writer = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(writer), "-screen", "0", "1280x720x24", "-nolisten", "tcp"],
                              pass_fds=[writer], stderr=subprocess.DEVNULL)
    os.close(writer)
    try:
        with os.fdopen(reader) as answer:
            display = answer.readline().strip()
        if not display:
            leave("Xvfb gives no display")
        pictures = {page: picture_of(demo, page, folder, display) for page in PAGES}
    finally:
        server.terminate()
        server.wait()
    for page, rows in pictures.items():
        colors = {row[i:i + 3] for row in rows for i in range(0, len(row), 3)}
        assert len(colors) > 20, f"{page}: something is drawn"
        for other, other_rows in pictures.items():
            same = sum(a == b for a, b in zip(rows, other_rows))
            assert page == other or same < HEIGHT * 9 // 10, f"{page} shows something else than {other}"
    return 0


if __name__ == "__main__":
    sys.exit(main())
