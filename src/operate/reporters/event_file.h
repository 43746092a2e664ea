// Writes TensorBoard's event files: Event messages in TFRecord framing. The framing is described at
// https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details, the messages in event.proto,
// summary.proto and tensor.proto of TensorBoard.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "operate/reporters/live_file.h"
#include "operate/reporters/value_histogram.h"

namespace hone {

class EventFile {
 public:
  // Creates <folder>/events.out.tfevents.<seconds>.<host>.<pid>.0, and adds the record with the version of the file
  // format. Errors: those of LiveFile::open.
  static Result<EventFile> create(const std::string& folder);

  // The functions add...() only queue records; flush() writes them. `step` is the optimizer step.
  void add_scalar(const std::string& tag, double value, int64_t step);
  void add_text(const std::string& tag, const std::string& text, int64_t step);
  // Adds an image, the bytes of a PNG file. Width and height are in pixels.
  void add_image(const std::string& tag, std::string_view png, int64_t width, int64_t height,
                 int64_t step);
  void add_histogram(const std::string& tag, const ValueHistogram& values, int64_t step);
  void add_graph(std::string_view graph_def);  // a result of program_graph()
  // Adds a record of hparams_records.h. `name` is the HPARAMS plugin's name for it: "experiment",
  // "session_start_info" or "session_end_info".
  void add_hparams(const std::string& name, std::string_view record);

  // Writes the queued records; see LiveFile.
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
