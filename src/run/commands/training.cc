#include "run/commands/training.h"

#include <algorithm>
#include <charconv>

#include "base/core/log.h"
#include "base/settings/errors.h"
#include "base/store/private_file.h"
#include "base/store/store.h"
#include "engine/backends/backends.h"
#include "learn/pretrained/stored.h"
#include "learn/pretrained/weights.h"
#include "learn/train/best_model.h"
#include "learn/train/update.h"
#include "run/commands/data_paths.h"
#include "run/commands/errors.h"

namespace hone {

namespace {

// "q_proj=16" of a flag, in the order of PEFT's files.
Result<Adapter::Patterns> patterns_of_flag(const char* flag,
                                           const std::vector<std::string>& given) {
  Adapter::Patterns patterns;
  for (const std::string& one : given) {
    const size_t is = one.rfind('=');
    double value = 0;
    const char* end = one.data() + one.size();
    const auto read = is == one.npos ? std::from_chars_result{end, std::errc::invalid_argument}
                                     : std::from_chars(one.data() + is + 1, end, value);
    if (read.ec != std::errc() || read.ptr != end || is == 0)
      return Error(err::kSettingType, fmt::format("{}: '{}' is not NAME=NUMBER", flag, one))
          .at(fmt::format("--{}", flag))
          .todo(fmt::format("write the end of a layer's name and its value: --{} q_proj=16", flag));
    patterns.emplace_back(one.substr(0, is), value);
  }
  std::sort(patterns.begin(), patterns.end());
  return patterns;
}

// PEFT's init_lora_weights. H0203: there is no such value.
Status set_first_values(const std::string& text, Adapter& adapter) {
  constexpr std::string_view kExact = "pissa", kTurns = "pissa_niter_";
  if (text == "true") return Ok{};
  adapter.first = std::make_shared<std::map<std::string, std::vector<float>>>();
  if (text == kExact) return Ok{};
  const char* begin = text.data() + std::min(kTurns.size(), text.size());
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(begin, end, adapter.principal_turns);
  const bool fits = text.starts_with(kTurns) && read.ec == std::errc() && read.ptr == end &&
                    adapter.principal_turns >= 0 && adapter.principal_turns <= 1000;
  if (fits) return Ok{};
  return Error(err::kSettingChoice, fmt::format("'{}' is not a way to begin an adapter", text))
      .at("--init_lora_weights")
      .todo("use true, pissa or pissa_niter_N with a number such as 16");
}

Result<std::shared_ptr<const Adapter>> new_adapter(const TrainSettings& s) {
  auto adapter = std::make_shared<Adapter>();
  HONE_TRY(set_first_values(s.init_lora_weights, *adapter));
  adapter->r = s.lora_r;
  adapter->alpha = s.lora_alpha;
  adapter->ranks = HONE_TRY(patterns_of_flag("rank_pattern", s.rank_pattern));
  adapter->alphas = HONE_TRY(patterns_of_flag("alpha_pattern", s.alpha_pattern));
  adapter->dropout = s.lora_dropout;
  adapter->dora = s.use_dora;
  adapter->rslora = s.use_rslora;
  if (s.lora_target_modules == std::vector<std::string>{Adapter::kAllLinear})
    adapter->pattern = Adapter::kAllLinear;
  else
    adapter->targets = s.lora_target_modules;
  adapter->saved = s.lora_modules_to_save;
  adapter->parameters = s.lora_target_parameters;
  adapter->seed = static_cast<uint64_t>(s.seed);
  return std::shared_ptr<const Adapter>(std::move(adapter));
}

// Weights in few bits have no gradient: an adapter trains beside them.
Status check_quantization(const TrainSettings& s, const ModelConfig& config) {
  if (s.load_in_4bit && s.load_in_8bit)
    return Error(err::kSettingConflict, "--load_in_4bit and --load_in_8bit exclude each other")
        .todo("leave one of them out");
  if (!config.quantization || config.adapter || !s.do_train) return Ok{};
  const bool flags = s.load_in_4bit || s.quantize_in_8bit();
  return Error(err::kSettingConflict, "weights that are kept in few bits cannot be trained")
      .at(s.load_in_4bit         ? "--load_in_4bit"
          : s.quantize_in_8bit() ? "--load_in_8bit"
                                 : "config.json: quantization_config")
      .todo(flags ? "add --use_peft, which trains an adapter beside them, or leave the flag out"
                  : "add --use_peft, which trains an adapter beside them");
}

// One model is named, in one of the ways.
Status check_model_flags(const TrainSettings& s, bool needs_tokenizer) {
  const bool new_type = s.model_name_or_path.empty() && s.config_name.empty();
  if (!s.config_overrides.empty() && !(new_type && !s.model_type.empty()))
    return Error(err::kNoModel,
                 "--config_overrides belongs to --model_type, without a model and a "
                 "config file")
        .at("--config_overrides " + s.config_overrides)
        .todo("edit the config.json of --config_name, or name the type by --model_type");
  if (new_type && s.model_type.empty())
    return Error(err::kNoModel, "no model is named")
        .todo(
            "name one by --model_name_or_path; to train from scratch, a config.json by "
            "--config_name or a type by --model_type");
  if (new_type && needs_tokenizer && s.tokenizer_name.empty())
    return Error(err::kNoModel, "a new model of a type has no tokenizer")
        .at("--model_type " + s.model_type)
        .todo("name one by --tokenizer_name");
  return Ok{};
}

Status check_sizes(const Pretrained& model) {
  const NewHead any_head{.replace_other_sizes = true};
  return model.weights ? check_weights(*model.weights, model.config, &any_head) : Status(Ok{});
}

}  // namespace

Result<OpenedModel> open_for_training(const Task& task, bool need_weights) {
  const TaskSettings& s = *task.settings;
  HONE_TRY(check_model_flags(s, task.reads_text));
  const bool from_scratch = s.model_name_or_path.empty();
  OpenOptions o = open_options(s);
  o.model_type = s.model_type;
  o.config_overrides = s.config_overrides;
  if (from_scratch) o.config_name.clear();
  o.need_weights = need_weights && !from_scratch;
  o.need_tokenizer = false;
  o.resize_embeddings = s.resize_embeddings.value_or(task.resizes_embeddings && s.do_train);
  o.vocabulary_multiple = s.pad_to_multiple_of;
  if (!o.quantization && !from_scratch && !s.do_train && s.dtype == "auto" &&
      s.device_here() == "cpu")
    o.quantization = as_stored();
  if (s.use_peft && s.adapter_name_or_path.empty()) o.adapter = HONE_TRY(new_adapter(s));
  Pretrained model =
      HONE_TRY(open_pretrained(from_scratch ? s.config_name : s.model_name_or_path, o));
  if (from_scratch) model.config.quantization = o.quantization;  // no file's weights are read
  HONE_TRY(task.choose_head(model.config));
  if (s.do_train && s.neftune_noise_alpha > 0) {
    if (model.config.source_vocab > 0)
      return Error(err::kSettingConflict,
                   "NEFTune's noise is for models without an encoder before them")
          .at(fmt::format("--neftune_noise_alpha {:g}", s.neftune_noise_alpha))
          .todo("leave it out: in encoder-decoders it is not supported");
    model.config.neftune_alpha = s.neftune_noise_alpha;
  }
  HONE_TRY(check_adapter(model.config));
  HONE_TRY(check_quantization(s, model.config));
  return OpenedModel{std::move(model), from_scratch};
}

Result<std::unique_ptr<TaskRun>> open_run(const Task& task) {
  HONE_TRY(check_data_files(*task.settings));
  OpenedModel opened = HONE_TRY(open_for_training(task));
  HONE_TRY(check_sizes(opened.model));
  return TaskRun::open(task, std::move(opened.model), opened.from_scratch);
}

Status check_training(const ChosenTask& chosen) {
  const TaskSettings& s = *chosen.task->settings;
  if (!s.do_train) return Ok{};
  HONE_TRY(check_strategies(s));
  HONE_TRY(update_options(s));
  HONE_TRY(make_schedule(s, std::max<int64_t>(1, s.max_steps)));
  HONE_TRY(most_seconds(s));
  return Ok{};
}

Status check_output_dir(const std::string& folder) {
  Store& store = file_store();
  HONE_TRY(make_run_folder(folder));
  const std::string probe = folder + "/.hone_probe";
  HONE_TRY(store.write(probe, "probe\n"));
  return store.remove_all(probe);
}

Status warn_of_emulated_bf16(const TrainSettings& s) {
  if (s.computes_in_bf16() && !HONE_TRY(device_spec("cpu")).multiplies_bf16)
    log_warning(
        "this processor has neither AMX nor AVX512_BF16: {} is emulated and slower than float32",
        s.bf16 ? "--bf16" : "--dtype bfloat16");
  return Ok{};
}

std::string results_table(const std::string& which, const OrderedJson& metrics) {
  size_t width = 0;
  for (const auto& [key, value] : metrics.items()) width = std::max(width, key.size());
  std::string s = fmt::format("***** {} metrics *****", which);
  for (const auto& [key, value] : metrics.items())
    s += fmt::format("\n  {:<{}} = {}", key, width, dump_json(value));
  return s;
}

}  // namespace hone
