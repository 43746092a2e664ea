// The preset imagenet: ResNet-50 from scratch on a folder of ImageNet (SGD with momentum 0.9, 128 images a step, rate 0.1 with
// a warm-up and a cosine), set up by the variables of the programs that train it on cloud machines, with their line:
//
//   Training Device=cpu:0 Epoch=1 Step=20 Loss=6.90776 Rate=312.50 GlobalRate=298.11 Time=14:02:37
//
// IMAGE_DIR: the folder, on any store; NUM_EPOCHS; LOGDIR, else BUCKET: event files go to gs://BUCKET/log-%Y%m%d%H%M%S. Flags
// take precedence. The line is that of torch_xla's print_training_update.
#include <array>
#include <charconv>
#include <ctime>

#include "base/core/clock.h"
#include "base/core/text.h"
#include "learn/harness/run/task_run.h"
#include "learn/tasks/image_classification_settings.h"
#include "learn/tasks/presets/errors.h"
#include "learn/tasks/presets/presets.h"
#include "learn/train/log_folder.h"

namespace hone {
namespace {

constexpr const char* kImageNetModel = "microsoft/resnet-50";

struct ImageNetSettings : ImageClassificationSettings {
#define HONE_SETTINGS "learn/tasks/presets/imagenet_settings.def"
#include "base/settings/fields.inc"
};

void set_imagenet_defaults(ImageNetSettings& s) {
  s.do_train = s.do_eval = true;
  s.per_device_train_batch_size = s.per_device_eval_batch_size = 128;
  s.num_train_epochs = 90;
  s.learning_rate = 0.1;
  s.optim = "sgd";
  s.optim_args = "momentum=0.9";
  s.weight_decay = 1e-4;
  s.lr_scheduler_type = "cosine";
  s.warmup_ratio = 5.0 / 90;
  s.max_grad_norm = 0;
  s.crop_pct = 0.875;
  s.eval_strategy = s.save_strategy = "epoch";
  s.save_total_limit = 1;
  s.report_to = {"tensorboard"};
}

std::array<char, 32> time_text(const char* form) {
  const auto now = static_cast<std::time_t>(system_clock().wall_seconds());
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), form, &local);
  return text;
}

Status take_epochs(ImageNetSettings& s) {
  const std::string text = environment("NUM_EPOCHS");
  if (text.empty()) return Ok{};
  double epochs = 0;
  const char* end = text.data() + text.size();
  const auto [at, failed] = std::from_chars(text.data(), end, epochs);
  if (failed != std::errc() || at != end || !(epochs > 0) || epochs > 1e9)
    return Error(err::kPresetSetting, fmt::format("NUM_EPOCHS cannot be '{}'", text))
        .at("the variable NUM_EPOCHS")
        .todo("set it to a number of epochs, such as 90");
  s.num_train_epochs = epochs;
  return Ok{};
}

Status settle_imagenet(ImageNetSettings& s, const Schema& schema) {
  const bool has_data = has_given(schema, "dataset_name") || has_given(schema, "train_dir") ||
                        has_given(schema, "train_file");
  if (!has_data) s.dataset_name = environment("IMAGE_DIR");
  if (s.model_name_or_path.empty() && !has_given(schema, "config_name"))
    s.config_name = kImageNetModel;
  if (!has_given(schema, "num_train_epochs")) HONE_TRY(take_epochs(s));
  // LOGDIR is a variable of every task.
  const std::string bucket = environment("BUCKET");
  const bool chosen = !s.logging_dir.empty() || !environment("LOGDIR").empty();
  if (!chosen && !bucket.empty()) {
    static const std::string folder = time_text("log-%Y%m%d%H%M%S").data();
    const bool url = bucket.find("://") != std::string::npos;
    s.logging_dir = fmt::format("{}{}/{}", url ? "" : "gs://", without_end_slash(bucket), folder);
  }
  return Ok{};
}

class UpdateLines : public TrainCallback {
 public:
  UpdateLines(std::shared_ptr<const ImageNetSettings> s, int64_t steps_per_epoch,
              std::string device)
      : s_(std::move(s)), steps_per_epoch_(steps_per_epoch), device_(std::move(device)) {
    (void)time_text("%T");  // reads the time zone
  }

  void on_step_end(const RunPlace& at, const StepReport& report) override {
    const int64_t step = (at.step - 1) % steps_per_epoch_;
    if (step % s_->log_every != 0) return;
    const double seconds = report.seconds - seconds_,
                 rows = static_cast<double>(report.rows - rows_);
    const double rate = seconds > 0 ? rows / seconds : 0,
                 all = report.seconds > 0 ? static_cast<double>(report.rows) / report.seconds : 0;
    seconds_ = report.seconds, rows_ = report.rows;
    const auto time = time_text("%T");
    std::array<char, 256> line{};
    const auto end = fmt::format_to_n(
        line.data(), line.size(),
        "Training Device={} Epoch={} Step={} Loss={:.5f} Rate={:.2f} GlobalRate={:.2f} Time={}\n",
        device_, (at.step - 1) / steps_per_epoch_ + 1, step, report.loss, rate, all, time.data());
    s_->print({line.data(), std::min(end.size, line.size())});
  }

 private:
  std::shared_ptr<const ImageNetSettings> s_;
  int64_t steps_per_epoch_;
  std::string device_;
  double seconds_ = 0;  // at the last line
  int64_t rows_ = 0;
};

}  // namespace

Task preset_imagenet() {
  const auto s = std::make_shared<ImageNetSettings>();
  set_imagenet_defaults(*s);
  Task t = image_classification_task(s);
  t.name = "imagenet";
  t.summary = "ResNet-50 on ImageNet";
  t.bind = [s, images = t.bind](Schema& schema) {
    images(schema);
    s->bind(schema);
    add_aliases(schema, {{"num_train_epochs", "num_epochs"},
                         {"num_train_epochs", "epochs"},
                         {"per_device_train_batch_size", "batch_size"},
                         {"learning_rate", "lr"},
                         {"logging_dir", "logdir"},
                         {"dataset_name", "datadir"},
                         {"aug_repeats", "ra_reps"}});
  };
  t.settle = [s, images = t.settle](const Schema& schema) -> Status {
    HONE_TRY(images(schema));
    return settle_imagenet(*s, schema);
  };
  t.examples = [s, images = t.examples](Pretrained& model,
                                        const ExampleSource& source) -> Result<Examples> {
    if (s->do_train) s->print(fmt::format("LOGDIR {}\n", log_folder(*s)));
    Examples x = HONE_TRY(images(model, source));
    x.callback = [s](TaskRun& run) -> std::unique_ptr<TrainCallback> {
      return std::make_unique<UpdateLines>(
          s, run.steps().steps_per_epoch(),
          fmt::format("{}:{}", s->device_here(), run.ranks().share().rank));
    };
    return x;
  };
  return t;
}

}  // namespace hone
