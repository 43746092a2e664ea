// JPEG by libjpeg-turbo. Its errors are jumps, so the functions that call it hold no objects with
// destructors.
// clang-format off
#include <cstdio>  // jpeglib.h needs FILE and size_t before it
#include <jpeglib.h>
// clang-format on

#include <csetjmp>
#include <cstring>

#include "learn/images/codings.h"
#include "learn/images/exif.h"

namespace hone {
namespace {

// A progressive file of more scans is made to take long, not to be seen.
constexpr int kMostScans = 500;

enum class Failure { none, damaged, truncated, scans };

struct Manager {
  jpeg_error_mgr errors;
  std::jmp_buf jump;
  Failure failure;
  char why[JMSG_LENGTH_MAX];
};

Manager& manager_of(j_common_ptr c) { return *reinterpret_cast<Manager*>(c->err); }

[[noreturn]] void fail(j_common_ptr c, Failure failure) {
  Manager& m = manager_of(c);
  m.failure = failure;
  std::longjmp(m.jump, 1);
}
[[noreturn]] void on_error(j_common_ptr c) {
  Manager& m = manager_of(c);
  (*c->err->format_message)(c, m.why);
  fail(c, Failure::damaged);
}
void on_message(j_common_ptr, int) {}
void on_output(j_common_ptr) {}

// All bytes are in memory: a decoder that wants more has reached the end of a truncated file.
boolean on_end_of_bytes(j_decompress_ptr c) {
  fail(reinterpret_cast<j_common_ptr>(c), Failure::truncated);
}
void skip_bytes(j_decompress_ptr c, long count) {
  if (count <= 0) return;
  if (static_cast<size_t>(count) > c->src->bytes_in_buffer)
    fail(reinterpret_cast<j_common_ptr>(c), Failure::truncated);
  c->src->next_input_byte += count;
  c->src->bytes_in_buffer -= static_cast<size_t>(count);
}
void do_nothing(j_decompress_ptr) {}

void on_progress(j_common_ptr c) {
  if (reinterpret_cast<j_decompress_ptr>(c)->input_scan_number > kMostScans)
    fail(c, Failure::scans);
}

// A decoder at the start of the bytes.
struct Decoder {
  jpeg_decompress_struct c;
  Manager manager;
  jpeg_source_mgr source;
  jpeg_progress_mgr progress;
};

void begin(Decoder& d) {
  d.c.err = jpeg_std_error(&d.manager.errors);
  d.manager.errors.error_exit = on_error;
  d.manager.errors.emit_message = on_message;
  d.manager.errors.output_message = on_output;
  d.manager.failure = Failure::none;
  d.manager.why[0] = 0;
}

void open(Decoder& d, std::string_view bytes) {
  jpeg_create_decompress(&d.c);
  d.source = {};
  d.source.next_input_byte = reinterpret_cast<const JOCTET*>(bytes.data());
  d.source.bytes_in_buffer = bytes.size();
  d.source.init_source = do_nothing;
  d.source.fill_input_buffer = on_end_of_bytes;
  d.source.skip_input_data = skip_bytes;
  d.source.resync_to_restart = jpeg_resync_to_restart;
  d.source.term_source = do_nothing;
  d.c.src = &d.source;
  d.progress = {};
  d.progress.progress_monitor = on_progress;
  d.c.progress = &d.progress;
}

Error error_of(const Manager& m) {
  if (m.failure == Failure::truncated) return truncated_image("JPEG");
  if (m.failure == Failure::scans)
    return damaged_image("more than 500 scans, which no camera or editor writes");
  return damaged_image(m.why);
}

int orientation_of(const Decoder& d) {
  constexpr std::string_view kExif("Exif\0\0", 6), kXmp("http://ns.adobe.com/xap/1.0/\0", 29);
  int xmp = kUpright;
  for (jpeg_saved_marker_ptr m = d.c.marker_list; m; m = m->next) {
    const std::string_view data(reinterpret_cast<const char*>(m->data), m->data_length);
    if (data.starts_with(kExif)) return exif_orientation(data.substr(kExif.size()));
    if (data.starts_with(kXmp)) xmp = xmp_orientation(data);
  }
  return xmp;
}

// Inverted CMYK, as Adobe writes it, to RGB in the same bytes.
void cmyk_to_rgb(uint8_t* row, int64_t width) {
  for (int64_t x = 0; x < width; ++x, row += 4) {
    const uint32_t key = row[3];  // 255 - K
    for (int i = 0; i < 3; ++i) {
      const uint32_t product = (255u - row[i]) * key + 128;
      const auto part = static_cast<int32_t>(((product >> 8) + product) >> 8);
      const int32_t value = static_cast<int32_t>(key) - part;
      row[i] = static_cast<uint8_t>(value < 0 ? 0 : value);
    }
  }
}

bool read_header(Decoder& d, std::string_view bytes, ImageInfo& info) {
  begin(d);
  if (setjmp(d.manager.jump) != 0) return false;
  open(d, bytes);
  jpeg_save_markers(&d.c, JPEG_APP0 + 1, 0xffff);
  jpeg_read_header(&d.c, TRUE);
  info.stored_width = d.c.image_width;
  info.stored_height = d.c.image_height;
  info.orientation = orientation_of(d);
  return true;
}

// Rows [at.y, at.y + at.height) of columns that hold at.x and at.width, which become the blocks' own.
bool read_rows(Decoder& d, std::string_view bytes, Box& at, Image& to) {
  begin(d);
  if (setjmp(d.manager.jump) != 0) return false;
  open(d, bytes);
  jpeg_read_header(&d.c, TRUE);
  const bool cmyk = d.c.jpeg_color_space == JCS_CMYK || d.c.jpeg_color_space == JCS_YCCK;
  d.c.out_color_space = cmyk ? JCS_CMYK : JCS_EXT_RGBX;
  jpeg_start_decompress(&d.c);
  const bool whole_width = at.width == d.c.output_width,
             whole = whole_width && at.height == d.c.output_height;
  if (!whole_width) {
    JDIMENSION x = static_cast<JDIMENSION>(at.x), width = static_cast<JDIMENSION>(at.width);
    jpeg_crop_scanline(&d.c, &x, &width);
    at.x = x, at.width = width;
  }
  to.resize(at.width, at.height);
  if (at.y > 0) jpeg_skip_scanlines(&d.c, static_cast<JDIMENSION>(at.y));
  for (int64_t y = 0; y < at.height;) {
    JSAMPROW rows[8];
    const int64_t count = at.height - y < 8 ? at.height - y : 8;
    for (int64_t k = 0; k < count; ++k) rows[k] = to.row(y + k);
    y += jpeg_read_scanlines(&d.c, rows, static_cast<JDIMENSION>(count));
  }
  if (cmyk)
    for (int64_t y = 0; y < at.height; ++y) cmyk_to_rgb(to.row(y), at.width);
  if (whole) jpeg_finish_decompress(&d.c);
  return true;
}

// The place of the first scan, after the segments of the header, which may hold a thumbnail; 0: unknown.
size_t first_scan(std::string_view bytes) {
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(bytes[at]); };
  for (size_t at = 2; at + 4 <= bytes.size();) {
    if (byte(at) != 0xff) return 0;
    const uint8_t marker = byte(at + 1);
    if (marker == 0xda) return at;
    if (marker == 0xff)
      ++at;
    else
      at += 2 + (static_cast<size_t>(byte(at + 2)) << 8 | byte(at + 3));
  }
  return 0;
}

// A part is decoded without the rows after it: the end marker after the scans is looked for by itself, so that the
// same files are truncated for each part. Programs may append other data.
bool has_end(std::string_view bytes) {
  return bytes.substr(first_scan(bytes)).rfind("\xff\xd9") != std::string_view::npos;
}

}  // namespace

Result<ImageInfo> read_jpeg_info(std::string_view bytes) {
  Decoder d;
  std::memset(&d.c, 0, sizeof d.c);
  ImageInfo info;
  info.coding = ImageCoding::jpeg;
  const bool read = read_header(d, bytes, info);
  jpeg_destroy_decompress(&d.c);
  if (!read) return error_of(d.manager);
  return info;
}

Result<Box> decode_jpeg(std::string_view bytes, const Box& box, Image& to) {
  if (!has_end(bytes)) return truncated_image("JPEG");
  Decoder d;
  std::memset(&d.c, 0, sizeof d.c);
  Box at = box;
  const bool read = read_rows(d, bytes, at, to);
  jpeg_destroy_decompress(&d.c);
  if (!read) return error_of(d.manager);
  return at;
}

}  // namespace hone
