// LLaMA-Factory's YAML (https://llamafactory.readthedocs.io): Transformers' TrainingArguments, which keep their
// names, and arguments of its own.
#include <algorithm>
#include <map>

#include "base/core/text.h"
#include "learn/configs/block.h"
#include "learn/configs/llama_factory_data.h"
#include "learn/configs/other_config.h"

namespace hone {
namespace {

std::string task_of_stage(const ConfigBlock& b) {
  static const std::map<std::string, std::string> tasks = {
      {"sft", "sft"}, {"pt", "clm"}, {"dpo", "dpo"}, {"kto", "kto"}, {"rm", "reward"}};
  const auto task = tasks.find(b.text("stage", "sft"));
  if (task != tasks.end()) return task->second;
  b.cannot_be("stage", "use sft, pt, dpo, kto or rm");
  return "";
}

void read_method(const ConfigBlock& b) {
  const std::string type = b.text("finetuning_type", "lora");
  if (type == "full") return;
  if (type != "lora") return b.cannot_be("finetuning_type", "use lora or full");
  const std::string key = "finetuning_type";
  b.set("use_peft", true, key);
  const auto value = [&](const std::string& own, const std::string& setting,
                         const Json& otherwise) {
    if (b.has(own))
      b.set(setting, b.at(own), own);
    else
      b.set_default(setting, otherwise, own);
  };
  value("lora_rank", "lora_r", 8);
  value("lora_alpha", "lora_alpha", 2 * b.number("lora_rank", 8));
  value("lora_dropout", "lora_dropout", 0.0);
  Json targets = Json::array();
  for (const std::string& part : b.texts("lora_target"))
    for (const std::string& name : split(part, ',')) targets.push_back(std::string(trim(name)));
  if (targets.empty() || targets == Json::array({"all"})) targets = Json::array({"all-linear"});
  value("lora_target", "lora_target_modules", targets);
  b.reading.out.entries.back().value = targets;
  Json saved = Json::array();
  for (const std::string& part : b.texts("additional_target"))
    for (const std::string& name : split(part, ',')) saved.push_back(std::string(trim(name)));
  if (!saved.empty()) b.set("lora_modules_to_save", saved, "additional_target");
  if (!b.flag("pissa_init")) return;
  const auto turns = static_cast<int64_t>(b.number("pissa_iter", 16));
  b.set("init_lora_weights", turns < 0 ? "pissa" : fmt::format("pissa_niter_{}", turns),
        "pissa_init");
}

void read_bits(const ConfigBlock& b) {
  const double bits = b.number("quantization_bit", 0);
  if (bits == 0) return;
  if (bits == 8) return b.set("load_in_8bit", true, "quantization_bit");
  if (bits != 4) return b.cannot_be("quantization_bit", "use 4 or 8");
  b.set("load_in_4bit", true, "quantization_bit");
  if (b.has("quantization_type"))
    b.set("bnb_4bit_quant_type", b.at("quantization_type"), "quantization_type");
  if (b.has("double_quantization"))
    b.set("use_bnb_nested_quant", b.flag("double_quantization"), "double_quantization");
  else
    b.set_default("use_bnb_nested_quant", true, "double_quantization");
  if (b.flag("bf16")) b.set("bnb_4bit_compute_dtype", "bfloat16", "bf16");
}

void read_rows(const ConfigBlock& b, const std::string& task) {
  const std::string length = task == "clm" ? "block_size" : "max_length";
  if (b.has("cutoff_len"))
    b.set(length, b.at("cutoff_len"), "cutoff_len");
  else
    b.set_default(length, 2048, "cutoff_len");
  if (task == "clm") {
    if (b.has("packing")) b.set("packing", !b.flag("packing"), "packing");
    return;
  }
  if (b.flag("packing") && !b.flag("neat_packing"))
    b.cannot_be("packing",
                "add neat_packing: true: packed rows never attend to each other in hone");
  if (b.flag("packing"))
    b.note("packing", "rows are packed, but a step counts rows, not packs of cutoff_len tokens");
  read_llama_factory_template(b);
  if (task != "sft") return;
  const bool all = b.flag("train_on_prompt");
  const std::string key = "train_on_prompt";
  if (all) {
    b.set("completion_only_loss", false, key);
  } else {
    // Every answer of a chat is learnt, those of its history too.
    b.set_default("assistant_only_loss", true, key);
    b.set_default("completion_only_loss", false, key);
  }
  b.set_default("alpaca_prompt", "never", "template");
}

void read_preferences(const ConfigBlock& b, const std::string& task) {
  const auto value = [&](const std::string& own, const std::string& setting) {
    if (b.has(own)) b.set(setting, b.at(own), own);
  };
  if (task == "dpo" || task == "kto") {
    value("pref_beta", "beta");
    value("ref_model", "ref_model_name_or_path");
  }
  if (task == "dpo" && b.has("pref_loss")) {
    const std::string loss = b.text("pref_loss");
    if (loss != "sigmoid" && loss != "hinge" && loss != "ipo")
      return b.cannot_be("pref_loss",
                         "use sigmoid, hinge or ipo, or a loss of hone by --loss_type");
    b.set("loss_type", Json::array({loss}), "pref_loss");
  }
  if (task == "kto") {
    value("kto_chosen_weight", "desirable_weight");
    value("kto_rejected_weight", "undesirable_weight");
  }
}

// Kernels with the same results, names of logs, sizes of images.
constexpr const char* kWithoutEffect[] = {"flash_attn",
                                          "use_unsloth",
                                          "use_unsloth_gc",
                                          "enable_liger_kernel",
                                          "use_v1_kernels",
                                          "disable_gradient_checkpointing",
                                          "use_reentrant_gc",
                                          "plot_loss",
                                          "compute_accuracy",
                                          "use_kv_cache",
                                          "infer_backend",
                                          "infer_dtype",
                                          "print_param_status",
                                          "media_dir",
                                          "preprocessing_batch_size",
                                          "data_shared_file_system",
                                          "upcast_lmhead_output",
                                          "include_effective_tokens_per_second",
                                          "hf_hub_token",
                                          "ms_hub_token",
                                          "om_hub_token",
                                          "offload_folder",
                                          "image_max_pixels",
                                          "image_min_pixels",
                                          "video_max_pixels",
                                          "video_min_pixels",
                                          "video_fps",
                                          "video_maxlen",
                                          "freeze_vision_tower",
                                          "freeze_multi_modal_projector",
                                          "ray_num_workers",
                                          "use_swanlab",
                                          "swanlab_project",
                                          "swanlab_run_name",
                                          "swanlab_mode",
                                          "swanlab_workspace",
                                          "ignore_pad_token_for_loss",
                                          "export_size",
                                          "export_device",
                                          "export_legacy_format",
                                          "loraplus_lr_embedding"};
constexpr const char* kReadBelow[] = {"stage",
                                      "finetuning_type",
                                      "lora_rank",
                                      "lora_alpha",
                                      "lora_dropout",
                                      "lora_target",
                                      "additional_target",
                                      "quantization_bit",
                                      "quantization_type",
                                      "double_quantization",
                                      "dataset",
                                      "eval_dataset",
                                      "dataset_dir",
                                      "val_size",
                                      "max_samples",
                                      "template",
                                      "cutoff_len",
                                      "packing",
                                      "neat_packing",
                                      "train_on_prompt",
                                      "pref_beta",
                                      "pref_loss",
                                      "ref_model",
                                      "kto_chosen_weight",
                                      "kto_rejected_weight",
                                      "pissa_init",
                                      "pissa_iter",
                                      "pissa_convert"};

void refuse_keys(std::vector<ConfigKey>& keys) {
  const auto refuse = [&](const std::string& remedy, std::initializer_list<const char*> names) {
    for (const char* name : names) keys.push_back({name, refused(remedy)});
  };
  refuse("remove it: each answer of a chat is learnt", {"mask_history"});
  refuse("hone merges no adapters", {"export_dir", "export_quantization_bit"});
  refuse("use lora or full",
         {"use_galore", "use_badam", "use_adam_mini", "use_llama_pro", "use_dft_loss",
          "use_asft_loss", "use_eaft_loss", "mixture_of_depths", "shift_attn"});
  refuse("use optim: apollo_adamw", {"use_apollo"});
  refuse("use optim: muon", {"use_muon"});
  refuse("remove it", {"pref_ftx", "pref_bco_weight", "dpo_label_smoothing", "default_system",
                       "tool_format", "interleave_probs", "add_tokens", "add_special_tokens",
                       "new_special_tokens_config", "rope_scaling", "moe_aux_loss_coef", "fp8",
                       "train_from_scratch", "split_special_tokens", "use_kt", "tokenized_path",
                       "reward_model", "ref_model_adapters", "ref_model_quantization_bit"});
}

std::vector<ConfigKey> own_keys() {
  std::vector<ConfigKey> keys = {
      {"quantization_method",
       only({"bnb", "bitsandbytes"}, "hone keeps weights as bitsandbytes does")},
      {"pure_bf16",
       [](const ConfigBlock& b, const std::string& key) {
         if (b.flag(key)) b.set("dtype", "bfloat16", key);
       }},
      {"resize_vocab", sets("resize_embeddings")},
      {"disable_shuffling",
       [](const ConfigBlock& b, const std::string& key) {
         if (b.flag(key)) b.set("train_sampling_strategy", "sequential", key);
       }},
      {"early_stopping_steps", sets("early_stopping_patience")},
      {"ddp_timeout",
       [](const ConfigBlock& b, const std::string& key) {
         b.set("ddp_timeout", static_cast<int64_t>(std::min(b.number(key, 600), 1e6)), key);
       }},
      {"upcast_layernorm"},
      {"mix_strategy", only({"concat"}, "hone trains on all rows of all data sets")}};
  for (const char* name : kWithoutEffect) keys.push_back({name});
  for (const char* name : kReadBelow) keys.push_back({name, seen()});
  refuse_keys(keys);
  return keys;
}

void read_llama_factory(const ConfigBlock& b) {
  std::vector<ConfigKey> keys = own_keys();
  // The other keys are arguments of Transformers, which hone's own settings know.
  for (const auto& [name, value] : b.json.items())
    if (std::none_of(keys.begin(), keys.end(),
                     [&, &n = name](const ConfigKey& k) { return k.name == n; }))
      keys.push_back({name, name == "lr_scheduler_kwargs" ? sets_json(name) : sets(name)});
  b.walk(keys);
  const std::string task = task_of_stage(b);
  if (task.empty()) return;
  b.set("task", task, "stage");
  read_method(b);
  read_bits(b);
  read_rows(b, task);
  read_preferences(b, task);
  read_llama_factory_data(b, task);
}

}  // namespace

OtherConfig other_config_llama_factory() {
  return {.program = "LLaMA-Factory",
          .is_mine =
              [](const Json& file) {
                const auto has = [&](const char* key) { return file.contains(key); };
                return has("model_name_or_path") && !has("task") &&
                       (has("stage") || has("finetuning_type") || has("template"));
              },
          .read = read_llama_factory};
}

}  // namespace hone
