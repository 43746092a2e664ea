#include "operate/reporters/event_file.h"

#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/process.h"
#include "base/core/protobuf.h"
#include "base/store/crc32c.h"

namespace hone {
namespace {

namespace pb = protobuf;

std::string tf_record(const std::string& data) {
  auto masked = [](std::string_view x) {
    const uint32_t c = crc32c(x);
    return pb::little_endian((c >> 15 | c << 17) + 0xa282ead8u);
  };
  const std::string length = pb::little_endian(static_cast<uint64_t>(data.size()));
  return length + masked(length) + data + masked(data);
}

}  // namespace

Result<EventFile> EventFile::create(const std::string& folder) {
  HONE_TRY(file_store().make_dirs(folder));
  const auto seconds = static_cast<int64_t>(system_clock().wall_seconds());
  EventFile file(HONE_TRY(LiveFile::open(fmt::format("{}/events.out.tfevents.{:010d}.{}.{}.0",
                                                     folder, seconds, host_name(), ::getpid()))));
  file.add_event(pb::bytes(3, "brain.Event:2"));
  HONE_TRY(file.flush());
  return file;
}

// Event: 1 wall_time double, 2 step, 3 file_version, 4 graph_def, 5 summary {1 value}
void EventFile::add_event(std::string_view fields) {
  file_.add(tf_record(pb::real(1, system_clock().wall_seconds()) + std::string(fields)));
}

void EventFile::add_value(int64_t step, std::string_view value) {
  add_event((step != 0 ? pb::number(2, step) : "") + pb::bytes(5, pb::bytes(1, value)));
}

// Summary.Value: 1 tag, 2 simple_value float, 4 image, 5 histo, 8 tensor,
// 9 metadata {1 plugin_data {1 plugin_name, 2 content}}
void EventFile::add_scalar(const std::string& tag, double value, int64_t step) {
  add_value(step, pb::bytes(1, tag) + pb::real(2, static_cast<float>(value)));
}

void EventFile::add_text(const std::string& tag, const std::string& text, int64_t step) {
  // Tensor: 1 dtype (7: string), 2 shape {2 dim {1 size}}, 8 string_val
  const std::string shape = pb::bytes(2, pb::number(1, 1));
  const std::string tensor = pb::number(1, 7) + pb::bytes(2, shape) + pb::bytes(8, text);
  add_value(step, pb::bytes(1, tag + "/text_summary") + pb::bytes(8, tensor) +
                      pb::bytes(9, pb::bytes(1, pb::bytes(1, "text"))));
}

void EventFile::add_image(const std::string& tag, std::string_view png, int64_t width,
                          int64_t height, int64_t step) {
  // Image: 1 height, 2 width, 3 colorspace (3: RGB), 4 encoded_image_string
  const std::string image =
      pb::number(1, height) + pb::number(2, width) + pb::number(3, 3) + pb::bytes(4, png);
  add_value(step, pb::bytes(1, tag) + pb::bytes(4, image));
}

void EventFile::add_histogram(const std::string& tag, const ValueHistogram& values, int64_t step) {
  // HistogramProto: 1 min, 2 max, 3 num, 4 sum, 5 sum_squares, 6 bucket_limit, 7 bucket
  std::string limits, counts;
  for (const auto& [limit, count] : values.buckets()) {
    limits += pb::little_endian(limit);
    counts += pb::little_endian(static_cast<double>(count));
  }
  const std::string histogram = pb::real(1, values.min()) + pb::real(2, values.max()) +
                                pb::real(3, static_cast<double>(values.num())) +
                                pb::real(4, values.sum()) + pb::real(5, values.sum_squares()) +
                                pb::bytes(6, limits) + pb::bytes(7, counts);
  add_value(step, pb::bytes(1, tag) + pb::bytes(5, histogram));
}

void EventFile::add_graph(std::string_view graph_def) { add_event(pb::bytes(4, graph_def)); }

void EventFile::add_hparams(const std::string& name, std::string_view record) {
  // The plugin reads the metadata; it wants a tensor beside them, an empty one (its NULL_TENSOR).
  const std::string tensor = pb::number(1, 1) + pb::bytes(2, pb::bytes(2, ""));
  add_value(0, pb::bytes(1, "_hparams_/" + name) + pb::bytes(8, tensor) +
                   pb::bytes(9, pb::bytes(1, pb::bytes(1, "hparams") + pb::bytes(2, record))));
}

}  // namespace hone
