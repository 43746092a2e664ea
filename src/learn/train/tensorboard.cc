// The log of a run as TensorBoard event files.
#include <optional>

#include "base/core/log.h"
#include "base/core/text.h"
#include "learn/train/callback.h"
#include "learn/train/event_file.h"

namespace hone {

std::string log_folder(const TrainSettings& s) {
  std::string folder = s.logging_dir;
  for (const char* name : {"TENSORBOARD_LOGGING_DIR", "LOGDIR", "AIP_TENSORBOARD_LOG_DIR"})
    if (folder.empty()) folder = environment(name);
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  static const std::string run = run_folder_name();
  return folder.empty() ? s.output_dir + "/runs/" + run : folder;
}

namespace {

class TensorBoard : public TrainCallback {
 public:
  explicit TensorBoard(const TrainSettings& s) : s_(s) {}
  ~TensorBoard() override {
    if (file_) (void)file_->close();
  }

  Status on_train_begin(const RunPlace&) override { return open(); }
  void on_train_end(const RunPlace&) override {
    if (const Status closed = file_ ? file_->close() : Status(Ok{}); !closed.ok())
      log_warning("{} is not complete: {}", file_->path(), closed.error().text());
  }
  Status on_log(const RunPlace& at, const OrderedJson& entry) override {
    if (!file_) HONE_TRY(open());  // an evaluation without training
    for (const auto& [name, value] : entry.items()) {
      if (!value.is_number()) continue;
      const std::string tag = name.starts_with("eval_") ? "eval/" + name.substr(5)
                              : name == "perplexity"    ? "eval/perplexity"
                                                        : "train/" + name;
      file_->add_scalar(tag, value.get<double>(), at.step);
    }
    return file_->flush();
  }

 private:
  Status open() {
    file_ = HONE_TRY(EventFile::create(log_folder(s_)));
    log_info("{:<11} {}", "tensorboard", file_->path());
    TrainSettings copy = s_;
    Schema schema("hone train", "");
    copy.bind(schema);
    file_->add_text("args", dump_json(Json(schema.dump()), {.indent = 2}), 0);
    return file_->flush();
  }

  const TrainSettings& s_;
  std::optional<EventFile> file_;
};

}  // namespace

std::unique_ptr<TrainCallback> make_tensorboard(const TrainSettings& s) {
  return std::make_unique<TensorBoard>(s);
}

}  // namespace hone
