#include "operate/reporters/event_file.h"

#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/process.h"
#include "base/core/protobuf.h"
#include "base/store/crc32c.h"

namespace hone {
namespace {

using namespace protobuf;

std::string record(const std::string& data) {
  auto masked = [](std::string_view x) {
    const uint32_t c = crc32c(x);
    return little_endian((c >> 15 | c << 17) + 0xa282ead8u);
  };
  const std::string length = little_endian(static_cast<uint64_t>(data.size()));
  return length + masked(length) + data + masked(data);
}

double now() { return system_clock().wall_seconds(); }

}  // namespace

Result<EventFile> EventFile::create(const std::string& folder) {
  HONE_TRY(file_store().make_dirs(folder));
  EventFile file(
      HONE_TRY(LiveFile::open(fmt::format("{}/events.out.tfevents.{:010d}.{}.{}.0", folder,
                                          static_cast<int64_t>(now()), host_name(), ::getpid()))));
  // Event: 1 wall_time double, 2 step, 3 file_version, 5 summary
  file.file_.add(record(real(1, now()) + bytes(3, "brain.Event:2")));
  HONE_TRY(file.flush());
  return file;
}

void EventFile::add_event(int64_t step, std::string_view value) {
  const std::string summary = bytes(1, value);
  file_.add(record(real(1, now()) + number(2, step) + bytes(5, summary)));
}

void EventFile::add_scalar(const std::string& tag, double value, int64_t step) {
  // Summary.Value: 1 tag, 2 simple_value float
  add_event(step, bytes(1, tag) + real(2, static_cast<float>(value)));
}

void EventFile::add_text(const std::string& tag, const std::string& text, int64_t step) {
  // Summary.Value: 1 tag, 8 tensor, 9 metadata {1 plugin_data {1 plugin_name}}
  // Tensor: 1 dtype (7: string), 2 shape {2 dim {1 size}}, 8 string_val
  const std::string shape = bytes(2, number(1, 1));
  const std::string tensor = number(1, 7) + bytes(2, shape) + bytes(8, text);
  add_event(step, bytes(1, tag + "/text_summary") + bytes(8, tensor) +
                      bytes(9, bytes(1, bytes(1, "text"))));
}

}  // namespace hone
