// The preset imagenet: ResNet-50 from scratch on a folder of ImageNet (SGD with momentum 0.9, 128 images a step, rate 0.1 with
// a warm-up and a cosine), set up by the variables of the programs that train it on cloud machines, with their line:
//
//   Training Device=cpu:0 Epoch=1 Step=20 Loss=6.90776 Rate=312.50 GlobalRate=298.11 Time=14:02:37
//
// IMAGE_DIR: the folder, on any store; NUM_EPOCHS; LOGDIR, else BUCKET: event files go to gs://BUCKET/log-%Y%m%d%H%M%S. Flags
// take precedence, and may have the common names of timm's train.py and of torchvision's reference script. The line is that
// of torch_xla's print_training_update.
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

// A setting and what another one sets may both be given if they agree, as in the settings that a run records.
template <class T>
Status take(const Schema& schema, T& to, const T& value, const char* name, const char* other) {
  if (has_given(schema, name) && to != value)
    return Error(err::kPresetSetting, fmt::format("--{} and --{} disagree", other, name))
        .todo("give one of them");
  to = value;
  return Ok{};
}

// Learning rates by epochs, under the names of timm and torchvision.
Status settle_rates(ImageNetSettings& s, const Schema& schema) {
  if (s.warmup_epochs)
    HONE_TRY(take(schema, s.warmup_ratio, std::min(1.0, *s.warmup_epochs / s.num_train_epochs),
                  "warmup_ratio", "warmup_epochs"));
  if (s.min_lr == 0 && s.cooldown_epochs == 0) return Ok{};
  const std::string with_least = "cosine_with_min_lr";
  if (s.lr_scheduler_type != "cosine" && s.lr_scheduler_type != with_least)
    return Error(err::kPresetSetting,
                 fmt::format("min_lr and cooldown_epochs belong to the schedule cosine, not '{}'",
                             s.lr_scheduler_type))
        .at("--lr_scheduler_type " + s.lr_scheduler_type)
        .todo("leave them out, or give the schedule's own arguments by --lr_scheduler_kwargs");
  s.lr_scheduler_type = with_least;
  return take(
      schema, s.lr_scheduler_kwargs,
      Json{{"min_lr", s.min_lr}, {"cooldown_steps", s.cooldown_epochs / s.num_train_epochs}},
      "lr_scheduler_kwargs", "min_lr");
}

// Other names of settings, from timm and torchvision.
Status settle_names(ImageNetSettings& s, const Schema& schema) {
  const bool has_momentum = s.optim == "sgd" || s.optim == "lars";
  if (has_given(schema, "momentum") || !has_given(schema, "optim_args"))
    HONE_TRY(take(schema, s.optim_args,
                  has_momentum ? fmt::format("momentum={}", s.momentum) : std::string(),
                  "optim_args", "momentum"));
  if (has_given(schema, "model_ema_decay") && !s.model_ema)
    return Error(err::kPresetSetting, "--model_ema_decay belongs to --model_ema")
        .todo("give --model_ema too, or --ema_decay alone");
  if (s.model_ema) HONE_TRY(take(schema, s.ema_decay, s.model_ema_decay, "ema_decay", "model_ema"));
  if (s.auto_augment.empty()) return Ok{};
  const std::string policy = s.auto_augment == "ra" ? "randaugment" : "trivialaugment";
  return take(schema, s.augment_policy, policy, "augment_policy", "auto_augment");
}

Status settle_imagenet(ImageNetSettings& s, const Schema& schema) {
  const bool has_data = has_given(schema, "dataset_name") || has_given(schema, "train_dir") ||
                        has_given(schema, "train_file");
  if (!has_data) s.dataset_name = environment("IMAGE_DIR");
  if (s.model_name_or_path.empty() && !has_given(schema, "config_name"))
    s.config_name = kImageNetModel;
  if (!has_given(schema, "num_train_epochs")) HONE_TRY(take_epochs(s));
  HONE_TRY(settle_rates(s, schema));
  HONE_TRY(settle_names(s, schema));
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
                         {"dataset_name", "data_dir"},
                         {"dataset_name", "data_path"},
                         {"output_dir", "output"},
                         {"log_every", "log_interval"},
                         {"log_every", "print_freq"},
                         {"per_device_eval_batch_size", "validation_batch_size"},
                         {"save_total_limit", "checkpoint_hist"},
                         {"decode_threads", "workers"},
                         {"optim", "opt"},
                         {"lr_scheduler_type", "sched"},
                         {"warmup_epochs", "lr_warmup_epochs"},
                         {"min_lr", "lr_min"},
                         {"max_grad_norm", "clip_grad"},
                         {"max_grad_norm", "clip_grad_norm"},
                         {"gradient_accumulation_steps", "grad_accum_steps"},
                         {"label_smoothing_factor", "smoothing"},
                         {"label_smoothing_factor", "label_smoothing"},
                         {"image_size", "img_size"},
                         {"image_size", "train_crop_size"},
                         {"random_flip", "hflip"},
                         {"random_erasing", "reprob"},
                         {"random_erasing", "random_erase"},
                         {"randaugment_magnitude", "ra_magnitude"},
                         {"mixup_alpha", "mixup"},
                         {"cutmix_alpha", "cutmix"},
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
