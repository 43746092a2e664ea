// TensorBoard's event files: records (TFRecord framing) of Event messages, written field by field.
// https://www.tensorflow.org/tutorials/load_data/tfrecord#tfrecords_format_details and the messages
// event.proto, summary.proto, tensor.proto of TensorBoard.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "base/store/store.h"

namespace hone {

class EventFile {
 public:
  // Makes <folder>/events.out.tfevents.<seconds>.<host>.<pid>.0 with the record of the version.
  static Result<EventFile> create(const std::string& folder);

  void add_scalar(const std::string& tag, double value, int64_t step);
  void add_text(const std::string& tag, const std::string& text, int64_t step);
  // Appends what was added, durable on return. In a bucket, where each flush writes the whole object again,
  // at most every 30 seconds and while the caller continues; the log says once when the store fails.
  Status flush();
  // The last flush. In a bucket it waits until all is there.
  Status close();

  const std::string& path() const { return path_; }

 private:
  explicit EventFile(std::string path) : path_(std::move(path)) {}
  void add_event(int64_t step, std::string_view field);
  Status flush_remote(bool last);

  std::string path_, pending_;
  // In a store where an append writes all again:
  std::unique_ptr<Writer> remote_;
  std::future<Status> sync_;  // uses remote_
  double synced_at_ = 0;
  bool told_ = false;
};

std::string host_name();  // of this machine
// Mmmdd_HH-MM-SS_<host>, local time, as Transformers names the folders of its runs.
std::string run_folder_name();

}  // namespace hone
