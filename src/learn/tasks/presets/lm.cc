// The preset lm: masked language modelling as a program of Lightning's Trainer fine-tunes
// roberta-large (Adam, constant rate, no clipping, a row a batch, rows cut at 512 tokens), with
// that Trainer's flags. Reference: Trainer.__init__ of PyTorch Lightning 1.1.
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/core/log.h"
#include "learn/pretrained/open.h"
#include "learn/tasks/mlm_settings.h"
#include "learn/tasks/presets/errors.h"
#include "learn/tasks/presets/presets.h"

namespace hone {
namespace {

constexpr const char* kLmModel = "roberta-large";
constexpr double kRate = 1e-3;

struct LmSettings : MlmSettings {
#define HONE_SETTINGS "learn/tasks/presets/lm_settings.def"
#include "base/settings/fields.inc"
};

void set_lm_defaults(LmSettings& s) {
  s.model_name_or_path = kLmModel;
  s.do_train = true;
  s.per_device_train_batch_size = s.per_device_eval_batch_size = 1;
  s.num_train_epochs = 1000;
  s.learning_rate = kRate;
  s.optim = "adam";
  s.lr_scheduler_type = "constant";
  s.max_grad_norm = 0;
  s.line_by_line = true;
  s.max_seq_length = 512;
  s.validation_split_percentage = 0;
  s.logging_steps = 50;
  s.save_strategy = "epoch";
  s.save_total_limit = 1;
  s.report_to = {"tensorboard"};
  s.only_text_column = true;
}

Status limit_batches(LmSettings& s) {
  const std::string& text = s.limit_train_batches;
  const char* end = text.data() + text.size();
  const auto wrong = [&] {
    return Error(err::kPresetSetting, fmt::format("--limit_train_batches cannot be '{}'", text))
        .todo("give a number of batches, such as 100, or a share of the data above 0.0, up to 1.0");
  };
  if (text.find('.') == std::string::npos) {
    int64_t batches = 0;
    const auto [at, error] = std::from_chars(text.data(), end, batches);
    if (error != std::errc() || at != end || batches < 1 || batches > INT64_MAX >> 24)
      return wrong();
    const int64_t rows = batches * s.per_device_train_batch_size;
    s.max_train_samples = s.max_train_samples < 0 ? rows : std::min(s.max_train_samples, rows);
    return Ok{};
  }
  double share = 0;
  const auto [at, error] = std::from_chars(text.data(), end, share);
  if (error != std::errc() || at != end || !(share > 0 && share <= 1)) return wrong();
  s.fraction_of_train_data *= share;
  return Ok{};
}

Status settle_lm(LmSettings& s, const Schema& schema) {
  HONE_TRY(check_job_dir(s.job_dir, "copy the model from there"));
  if (!s.job_dir.empty() && !has_given(schema, "output_dir"))
    s.output_dir = (std::filesystem::path(s.job_dir) / s.output_dir).string();
  if (!has_given(schema, "per_device_eval_batch_size"))
    s.per_device_eval_batch_size = s.per_device_train_batch_size;
  if (s.precision.starts_with("bf16")) s.bf16 = true;
  if (!has_given(schema, "do_eval")) s.do_eval = s.do_eval || !s.validation_file.empty();
  if (s.do_eval && !has_given(schema, "eval_strategy")) s.eval_strategy = "epoch";
  if (s.do_eval && s.validation_file.empty() && !has_given(schema, "validation_split_percentage"))
    s.validation_split_percentage = DataSettings().validation_split_percentage;
  return limit_batches(s);
}

// The program's tokenizer where the folder has the weights alone.
Status take_usual_tokenizer(const LmSettings& s, Pretrained& model) {
  if (model.tokenizer || !s.tokenizer_name.empty()) return Ok{};
  OpenOptions o;
  o.cache_dir = s.cache_dir;
  o.token = s.token;
  Result<Tokenizer> usual = open_tokenizer(kLmModel, o);
  if (!usual.ok())
    return std::move(
        usual.error().todo(fmt::format("'{}' has no tokenizer: put its files there, or name one by "
                                       "--tokenizer_name",
                                       model.name)));
  log_info("{:<11} '{}' has none: that of {} is taken", "tokenizer", model.name, kLmModel);
  model.tokenizer = std::move(*usual);
  return Ok{};
}

}  // namespace

Task preset_lm() {
  const auto s = std::make_shared<LmSettings>();
  set_lm_defaults(*s);
  Task t = mlm_task(s);
  t.name = "lm";
  t.summary = "RoBERTa's masked language modelling";
  t.bind = [s, mlm = t.bind](Schema& schema) {
    mlm(schema);
    s->bind(schema);
    add_aliases(schema, {{"num_train_epochs", "epochs"},
                         {"num_train_epochs", "max_epochs"},
                         {"per_device_train_batch_size", "batch_size"},
                         {"train_file", "train_data_file"},
                         {"model_name_or_path", "pretrained_model_path"},
                         {"gradient_accumulation_steps", "accumulate_grad_batches"},
                         {"max_grad_norm", "gradient_clip_val"}});
  };
  t.settle = [s](const Schema& schema) { return settle_lm(*s, schema); };
  t.examples = [s, mlm = t.examples](Pretrained& model,
                                     const ExampleSource& source) -> Result<Examples> {
    HONE_TRY(take_usual_tokenizer(*s, model));
    if (s->do_train && s->learning_rate == kRate)
      log_warning(
          "the preset's learning rate {:g} is high for all weights of a trained model: "
          "--learning_rate {:g} is usual",
          kRate, TrainSettings().learning_rate);
    return mlm(model, source);
  };
  return t;
}

}  // namespace hone
