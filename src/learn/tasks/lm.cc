// The preset lm: masked language modelling as a program of Lightning's Trainer fine-tunes
// roberta-large (Adam, constant rate, no clipping, a row a batch, rows cut at 512 tokens), with
// that Trainer's flags. Reference: Trainer.__init__ of PyTorch Lightning 1.1.
#include <charconv>
#include <filesystem>

#include "base/core/log.h"
#include "learn/pretrained/open.h"
#include "learn/tasks/mlm.h"
#include "learn/tasks/task.h"
#include "learn/train/errors.h"

namespace hone {
namespace {

constexpr const char* kModel = "roberta-large";
constexpr double kRate = 1e-3;

struct LmOwnSettings {
#define HONE_SETTINGS "learn/tasks/lm_settings.def"
#include "base/settings/fields.inc"
};

bool has(const Schema& schema, const std::string& name) {
  const auto& all = schema.all();
  return std::any_of(all.begin(), all.end(), [&](const Setting& s) { return s.name == name; });
}
bool given(const Schema& schema, const std::string& name) {
  return has(schema, name) && schema.given(name);
}

class LmSettings : public MlmSettings, public LmOwnSettings {
 public:
  using TaskSettings::bind;
  LmSettings() {
    model_name_or_path = kModel;
    do_train = true;
    per_device_train_batch_size = per_device_eval_batch_size = 1;
    num_train_epochs = 1000;
    learning_rate = kRate;
    optim = "adam";
    lr_scheduler_type = "constant";
    max_grad_norm = 0;
    line_by_line = true;
    max_seq_length = 512;
    validation_split_percentage = 0;
    logging_steps = 50;
    save_strategy = "epoch";
    save_total_limit = 1;
    report_to = {"tensorboard"};
  }

  void bind_own(Schema& schema) override {
    MlmSettings::bind_own(schema);
    LmOwnSettings::bind(schema);
    for (const auto& [name, other] : {std::pair{"num_train_epochs", "epochs"},
                                      {"num_train_epochs", "max_epochs"},
                                      {"per_device_train_batch_size", "batch_size"},
                                      {"train_file", "train_data_file"},
                                      {"model_name_or_path", "pretrained_model_path"},
                                      {"gradient_accumulation_steps", "accumulate_grad_batches"},
                                      {"max_grad_norm", "gradient_clip_val"}})
      // Its own settings alone, where they are listed for help.
      if (has(schema, name)) schema.alias(name, other, false);
  }

  Status settle(const Schema& schema) override {
    if (job_dir.find("://") != std::string::npos)
      return Error(err::kNoData,
                   fmt::format("--job_dir {} is not a folder of this machine", job_dir))
          .todo("name a local folder and copy the model from there");
    if (!job_dir.empty() && !given(schema, "output_dir"))
      output_dir = (std::filesystem::path(job_dir) / output_dir).string();
    if (!given(schema, "per_device_eval_batch_size"))
      per_device_eval_batch_size = per_device_train_batch_size;
    if (precision.starts_with("bf16")) bf16 = true;
    if (!given(schema, "do_eval")) do_eval = do_eval || !validation_file.empty();
    if (do_eval && !given(schema, "eval_strategy")) eval_strategy = "epoch";
    if (do_eval && validation_file.empty() && !given(schema, "validation_split_percentage"))
      validation_split_percentage = DataSettings().validation_split_percentage;
    return limit_batches();
  }

  Result<TextFiles> files(const Pretrained& model, const TextWish& wish,
                          std::vector<std::string>& notes) const override {
    TextFiles found = HONE_TRY(MlmSettings::files(model, wish, notes));
    found.only_text_column = true;
    return found;
  }

  // The program's tokenizer where the folder has the weights alone.
  Result<std::unique_ptr<TokenTask>> open(Pretrained model, bool from_scratch) const override {
    if (!model.tokenizer && tokenizer_name.empty()) {
      OpenOptions o;
      o.cache_dir = cache_dir;
      o.token = token;
      Result<Tokenizer> usual = open_tokenizer(kModel, o);
      if (!usual.ok())
        return std::move(usual.error().todo(
            fmt::format("'{}' has no tokenizer: put its files there, or name one by "
                        "--tokenizer_name",
                        model.name)));
      log_info("{:<11} '{}' has none: that of {} is taken", "tokenizer", model.name, kModel);
      model.tokenizer = std::move(*usual);
    }
    if (do_train && learning_rate == kRate)
      log_warning(
          "the preset's learning rate 0.001 is high for all weights of a trained model: "
          "--learning_rate 5e-5 is usual");
    return MlmSettings::open(std::move(model), from_scratch);
  }

 private:
  Status limit_batches() {
    const std::string& text = limit_train_batches;
    const char* end = text.data() + text.size();
    const auto wrong = [&] {
      return Error(err::kNoData, fmt::format("--limit_train_batches cannot be '{}'", text))
          .todo("give a number of batches, as 100, or a share of the data from 0.0 to 1.0");
    };
    if (text.find('.') == std::string::npos) {
      int64_t batches = 0;
      const auto [at, error] = std::from_chars(text.data(), end, batches);
      if (error != std::errc() || at != end || batches < 1 || batches > INT64_MAX >> 24)
        return wrong();
      const int64_t rows = batches * per_device_train_batch_size;
      max_train_samples = max_train_samples < 0 ? rows : std::min(max_train_samples, rows);
      return Ok{};
    }
    double share = 0;
    const auto [at, error] = std::from_chars(text.data(), end, share);
    if (error != std::errc() || at != end || !(share > 0 && share <= 1)) return wrong();
    fraction_of_train_data *= share;
    return Ok{};
  }
};

}  // namespace

Task task_lm() {
  return {.name = "lm",
          .summary = "the preset: RoBERTa's masked language modelling",
          .settings = [] { return std::unique_ptr<TaskSettings>(new LmSettings); }};
}

}  // namespace hone
