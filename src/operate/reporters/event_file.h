// TensorBoard's event files: records (TFRecord framing) of Event messages, written field by field.
// https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details and the messages
// event.proto, summary.proto, tensor.proto of TensorBoard.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "operate/reporters/live_file.h"
#include "operate/reporters/value_histogram.h"

namespace hone {

class EventFile {
 public:
  // Creates <folder>/events.out.tfevents.<seconds>.<host>.<pid>.0 with the record of the version.
  static Result<EventFile> create(const std::string& folder);

  void add_scalar(const std::string& tag, double value, int64_t step);
  void add_text(const std::string& tag, const std::string& text, int64_t step);
  // Adds a PNG; width and height in pixels.
  void add_image(const std::string& tag, std::string_view png, int64_t width, int64_t height,
                 int64_t step);
  void add_histogram(const std::string& tag, const ValueHistogram& values, int64_t step);
  void add_graph(std::string_view graph_def);  // a result of program_graph()
  // Adds a record of hparams_records.h under the plugin's name for it: "experiment".
  void add_hparams(const std::string& name, std::string_view record);

  // Writes the added records, like LiveFile.
  Status flush() { return file_.flush(); }
  Status close() { return file_.close(); }
  std::string take_failure() { return file_.take_failure(); }
  const std::string& path() const { return file_.path(); }
  bool in_bucket() const { return file_.in_bucket(); }

 private:
  explicit EventFile(LiveFile file) : file_(std::move(file)) {}
  void add_event(std::string_view fields);
  void add_value(int64_t step, std::string_view value);

  LiveFile file_;
};

}  // namespace hone
