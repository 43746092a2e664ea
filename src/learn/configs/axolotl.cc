// Axolotl's YAML (https://docs.axolotl.ai/docs/config-reference.html).
#include <algorithm>
#include <cmath>

#include "base/core/text.h"
#include "learn/configs/axolotl_datasets.h"
#include "learn/configs/block.h"
#include "learn/configs/other_config.h"

namespace hone {
namespace {

void read_length(const ConfigBlock& b, const AxolotlTask& task) {
  const std::string length = task.name == "clm" ? "block_size" : "max_length";
  if (b.has("sequence_len"))
    b.set(length, b.at("sequence_len"), "sequence_len");
  else
    b.set_default(length, 512, "sequence_len");
  if (task.name != "sft") return;
  if (b.has("excess_length_strategy"))
    b.set("excess_length_strategy", b.at("excess_length_strategy"), "excess_length_strategy");
  else
    b.set_default("excess_length_strategy", "drop", "excess_length_strategy");
}

void read_batch_size(const ConfigBlock& b) {
  const double micro = b.number("micro_batch_size", 1);
  if (b.has("micro_batch_size"))
    b.set("per_device_train_batch_size", b.at("micro_batch_size"), "micro_batch_size");
  else
    b.set_default("per_device_train_batch_size", 1, "micro_batch_size");
  const std::string evals = b.has("eval_batch_size") ? "eval_batch_size" : "micro_batch_size";
  if (b.has(evals))
    b.set("per_device_eval_batch_size", b.at(evals), evals);
  else
    b.set_default("per_device_eval_batch_size", 1, evals);
  if (b.has("gradient_accumulation_steps")) {
    b.set("gradient_accumulation_steps", b.at("gradient_accumulation_steps"),
          "gradient_accumulation_steps");
    if (b.has("batch_size"))
      b.cannot_be("batch_size",
                  "remove it: micro_batch_size and gradient_accumulation_steps say it");
  } else if (const double rows = b.number("batch_size", 0); rows > 0) {
    if (rows < micro || std::fmod(rows, micro) != 0)
      return b.cannot_be("batch_size", "write a multiple of micro_batch_size");
    b.set("gradient_accumulation_steps", static_cast<int64_t>(rows / micro), "batch_size");
  }
}

void read_optimizer(const ConfigBlock& b) {
  if (!b.has("optimizer")) b.set_default("optim", "adamw_torch_fused", "optimizer");
  if (!b.has("lr_scheduler")) b.set_default("lr_scheduler_type", "cosine", "lr_scheduler");
  if (const Json& args = b.at("optim_args"); args.is_object()) {
    std::vector<std::string> pairs;
    for (const auto& [name, value] : args.items())
      pairs.push_back(fmt::format("{}={}", name,
                                  value.is_string() ? value.get<std::string>() : dump_json(value)));
    b.set("optim_args", join(pairs, ","), "optim_args");
  } else if (!args.is_null()) {
    b.set("optim_args", args, "optim_args");
  }
  if (b.has("warmup_steps")) {
    // Its trainer makes two steps of one.
    const bool one = b.number("warmup_steps", 0) == 1;
    b.set("warmup_steps", one ? Json(2) : b.at("warmup_steps"), "warmup_steps");
  } else if (b.has("warmup_ratio")) {
    b.set("warmup_ratio", b.at("warmup_ratio"), "warmup_ratio");
  } else {
    b.set_default("warmup_ratio", 0.03, "warmup_ratio");
    b.note("",
           "neither warmup_steps nor warmup_ratio: warmup is 3 % of the steps; in Axolotl at most "
           "100");
  }
  const std::string least = "cosine_min_lr_ratio";
  if (!b.has(least)) return;
  if (b.text("lr_scheduler", "cosine") != "cosine")
    return b.cannot_be(least, "it belongs to lr_scheduler: cosine");
  const double ratio = b.number(least, 0);
  if (ratio < 0 || ratio > 1) return b.cannot_be(least, "write a number from 0 to 1");
  b.set("lr_scheduler_type", "cosine_with_min_lr", least);
  b.set("lr_scheduler_kwargs", Json{{"min_lr_rate", ratio}}, least);
}

// Axolotl counts steps of an epoch by shares of all steps, as --eval_steps below 1 does.
void read_when(const ConfigBlock& b, const AxolotlTask& task) {
  const double epochs = b.number("num_epochs", 1);
  if (b.has("num_epochs"))
    b.set("num_train_epochs", b.at("num_epochs"), "num_epochs");
  else
    b.set_default("num_train_epochs", 1, "num_epochs");
  const auto share = [&](const std::string& key) {
    const double times = b.number(key, 0);
    return times > 0 && epochs > 0 ? 1 / (times * epochs) : 0.0;
  };
  const auto every = [&](const std::string& setting, const std::string& steps,
                         const std::string& strategy, const std::string& per_epoch) {
    if (b.has(steps)) {
      b.set(setting + "_strategy", "steps", steps);
      b.set(setting + "_steps", b.at(steps), steps);
    } else if (const double part = share(per_epoch); part > 0) {
      // All steps are one interval.
      if (part >= 1) return b.set(setting + "_strategy", "epoch", per_epoch);
      b.set(setting + "_strategy", "steps", per_epoch);
      b.set(setting + "_steps", part, per_epoch);
    } else if (b.has(strategy)) {
      b.set(setting + "_strategy", b.at(strategy), strategy);
    } else if (b.has(per_epoch)) {
      b.set(setting + "_strategy", "no", per_epoch);
    } else {
      b.set_default(setting + "_strategy", "epoch", strategy);
    }
  };
  every("save", "save_steps", "save_strategy", "saves_per_epoch");
  if (!task.evaluates) return;
  b.set("do_eval", true, task.evaluates_by);
  every("eval", "eval_steps",
        b.has("evaluation_strategy") ? "evaluation_strategy" : "eval_strategy", "evals_per_epoch");
}

void read_adapter(const ConfigBlock& b) {
  const std::string adapter = b.text("adapter");
  const bool quantized = b.flag("load_in_4bit");
  for (const char* key : {"load_in_4bit", "load_in_8bit"})
    if (b.flag(key)) b.set(key, true, key);
  if (quantized) {
    // As Axolotl calls BitsAndBytesConfig.
    const ConfigBlock more = b.block("bnb_config_kwargs");
    b.set_default("use_bnb_nested_quant", more.flag("bnb_4bit_use_double_quant", true),
                  "bnb_config_kwargs");
    if (more.has("bnb_4bit_quant_type"))
      more.set("bnb_4bit_quant_type", more.at("bnb_4bit_quant_type"), "bnb_4bit_quant_type");
    const std::string bf16 = to_lower(b.text("bf16", b.text("bfloat16", "false")));
    b.set_default("bnb_4bit_compute_dtype",
                  bf16 == "false" || bf16 == "no" ? "float32" : "bfloat16", "bnb_config_kwargs");
    more.walk({{"bnb_4bit_use_double_quant", seen()},
               {"bnb_4bit_quant_type", seen()},
               {"bnb_4bit_quant_storage"},
               {"bnb_4bit_compute_dtype", only({"bfloat16", "torch.bfloat16"}, "remove it")}});
  }
  if (adapter.empty() || adapter == "none") return;
  if (adapter != "lora" && adapter != "qlora")
    return b.cannot_be("adapter", "use adapter: lora or qlora");
  if (adapter == "qlora" && !quantized)
    b.cannot("adapter qlora without load_in_4bit", "adapter", "add load_in_4bit: true");
  b.set("use_peft", true, "adapter");
  for (const auto& [key, setting] : {std::pair("lora_r", "lora_r"), {"lora_alpha", "lora_alpha"}}) {
    if (b.has(key))
      b.set(setting, b.at(key), key);
    else if (!b.has("lora_model_dir"))
      b.cannot(fmt::format("an adapter without {}", key), "adapter",
               fmt::format("add {}: Axolotl has no default", key));
  }
  if (b.has("lora_dropout"))
    b.set("lora_dropout", b.at("lora_dropout"), "lora_dropout");
  else
    b.set_default("lora_dropout", 0.0, "lora_dropout");
  if (b.flag("lora_target_linear")) {
    b.set("lora_target_modules", Json::array({"all-linear"}), "lora_target_linear");
  } else if (b.has("lora_target_modules")) {
    for (const std::string& name : b.texts("lora_target_modules"))
      if (name.find_first_of("\\*+?()[]|^$") != name.npos)
        return b.cannot_be("lora_target_modules",
                           "write the last parts of the layers' names: q_proj, or all-linear");
    b.set("lora_target_modules", b.texts("lora_target_modules"), "lora_target_modules");
  }
}

void read_precision(const ConfigBlock& b) {
  for (const char* key : {"bf16", "bfloat16"}) {
    const std::string value = to_lower(b.text(key, "false"));
    if (value == "auto" || value == "full")
      b.set("bf16", true, key);
    else if (b.has(key))
      b.set("bf16", b.flag(key), key);
  }
  for (const char* key : {"fp16", "float16"})
    if (b.has(key)) b.set("fp16", b.flag(key), key);
}

// FSDP cuts the weights between the ranks: ZeRO's stage 3.
void read_fsdp(const ConfigBlock& b) {
  const ConfigBlock f = b.block("fsdp_config");
  const bool offload = f.flag("offload_params") || f.flag("fsdp_offload_params");
  if (b.has("fsdp"))
    b.set("fsdp", b.texts("fsdp"), "fsdp");
  else if (b.has("fsdp_config"))
    b.set("fsdp",
          Json::array({f.flag("reshard_after_forward", true) ? "full_shard" : "shard_grad_op"}),
          "fsdp_config");
  for (const char* key : {"sharding_strategy", "fsdp_sharding_strategy"})
    if (f.has(key)) f.set("fsdp", Json::array({to_lower(f.text(key))}), key);
  if (offload)
    for (const char* what : {"offload_param_device", "offload_optimizer_device"})
      b.set(what, "cpu", "fsdp_config");
  if (f.flag("activation_checkpointing") || f.flag("fsdp_activation_checkpointing"))
    b.set("gradient_checkpointing", true, "fsdp_config");
  std::vector<ConfigKey> keys = {
      {"fsdp_version"}, {"sharding_strategy", seen()}, {"fsdp_sharding_strategy", seen()}};
  for (const char* key : {"offload_params", "activation_checkpointing", "cpu_ram_efficient_loading",
                          "auto_wrap_policy", "transformer_layer_cls_to_wrap", "state_dict_type",
                          "final_state_dict_type", "sync_module_states", "use_orig_params",
                          "reshard_after_forward", "limit_all_gathers", "backward_prefetch",
                          "cpu_offload_pin_memory", "min_num_params", "forward_prefetch"})
    for (const char* begin : {"", "fsdp_"}) {
      const bool read = std::string(key) == "offload_params" ||
                        std::string(key) == "activation_checkpointing" ||
                        std::string(key) == "reshard_after_forward";
      keys.push_back({std::string(begin) + key, read ? seen() : ConfigAct()});
    }
  f.walk(keys);
}

// Groups of dp_shard_size ranks cut states, and dp_replicate_size groups have the same.
ConfigAct groups_of_ranks() {
  return [](const ConfigBlock& b, const std::string& key) {
    if (b.number(key, 1) <= 1) return;
    const auto shard = static_cast<int64_t>(b.number("dp_shard_size", 0));
    if (shard < 1) return b.cannot_be(key, "give dp_shard_size, the number of ranks in a group");
    if (shard > 1) b.set("mics_shard_size", shard, key);
  };
}

ConfigAct known_plugins() {
  return [](const ConfigBlock& b, const std::string& key) {
    for (const std::string& plugin : b.texts(key))
      if (plugin.find("integrations.liger") == plugin.npos &&
          plugin.find("integrations.cut_cross_entropy") == plugin.npos &&
          plugin.find("integrations.kernels") == plugin.npos &&
          plugin.find("integrations.swanlab") == plugin.npos)
        b.cannot(fmt::format("Axolotl's plugin {} is not supported", plugin), key,
                 "remove it from the list");
  };
}

ConfigAct model_type() {
  return [](const ConfigBlock& b, const std::string& key) {
    const std::string type = b.text(key);
    const bool decoder =
        type.ends_with("ForCausalLM") || type.ends_with("ForConditionalGeneration");
    const bool reward = type.ends_with("ForSequenceClassification") && b.flag("reward_model");
    if (!decoder && !reward) b.cannot_be(key, "remove it: config.json names the type");
  };
}

ConfigAct special_tokens() {
  return [](const ConfigBlock& b, const std::string& key) {
    const std::string why =
        "remove it, and change the token in the model's tokenizer_config.json if it differs";
    b.block(key).walk({{"pad_token"},
                       {"bos_token", refused(why)},
                       {"eos_token", refused(why)},
                       {"unk_token", refused(why)},
                       {"additional_special_tokens", refused(why)}});
  };
}

// The effect of `true` alone is another setting.
ConfigAct if_true(const std::string& setting, const Json& value) {
  return [=](const ConfigBlock& b, const std::string& key) {
    if (b.flag(key)) b.set(setting, value, key);
  };
}

// Keys whose values are those of settings.
constexpr std::pair<const char*, const char*> kSameValues[] = {
    {"base_model", "model_name_or_path"},
    {"revision_of_model", "model_revision"},
    {"tokenizer_config", "tokenizer_name"},
    {"learning_rate", "learning_rate"},
    {"optimizer", "optim"},
    {"optim_target_modules", "optim_target_modules"},
    {"lr_scheduler", "lr_scheduler_type"},
    {"weight_decay", "weight_decay"},
    {"max_grad_norm", "max_grad_norm"},
    {"adam_beta1", "adam_beta1"},
    {"adam_beta2", "adam_beta2"},
    {"adam_epsilon", "adam_epsilon"},
    {"max_steps", "max_steps"},
    {"seed", "seed"},
    {"output_dir", "output_dir"},
    {"logging_steps", "logging_steps"},
    {"save_total_limit", "save_total_limit"},
    {"save_only_model", "save_only_model"},
    {"load_best_model_at_end", "load_best_model_at_end"},
    {"metric_for_best_model", "metric_for_best_model"},
    {"greater_is_better", "greater_is_better"},
    {"early_stopping_patience", "early_stopping_patience"},
    {"resume_from_checkpoint", "resume_from_checkpoint"},
    {"lora_modules_to_save", "lora_modules_to_save"},
    {"lora_model_dir", "adapter_name_or_path"},
    {"peft_init_lora_weights", "init_lora_weights"},
    {"peft_use_dora", "use_dora"},
    {"peft_use_rslora", "use_rslora"},
    {"loraplus_lr_ratio", "loraplus_lr_ratio"},
    {"neftune_noise_alpha", "neftune_noise_alpha"},
    {"noisy_embedding_alpha", "neftune_noise_alpha"},
    {"deepspeed", "deepspeed"},
};

std::vector<ConfigKey> keys_with_settings() {
  const std::string ranks = "hone's ranks divide the rows and, by fsdp or deepspeed, the states";
  return {{"model_type", model_type()},
          {"special_tokens", special_tokens()},
          {"resize_token_embeddings_to_32x", if_true("pad_to_multiple_of", 32)},
          {"gradient_checkpointing",
           [](const ConfigBlock& b, const std::string& key) {
             const bool offload = to_lower(b.text(key)).starts_with("offload");
             b.set("gradient_checkpointing", offload || b.flag(key), key);
             if (offload) b.set("offload_activation_device", "cpu", key);
           }},
          {"activation_offloading",
           [](const ConfigBlock& b, const std::string& key) {
             if (!(to_lower(b.text(key)) == "false"))
               b.set("offload_activation_device", "cpu", key);
           }},
          {"lr_scheduler_kwargs", sets_json("lr_scheduler_kwargs")},
          {"use_tensorboard", if_true("report_to", Json::array({"tensorboard"}))},
          {"use_mlflow", if_true("report_to", Json::array({"mlflow"}))},
          {"plugins", known_plugins()},
          {"embeddings_skip_upcast"},
          {"processor_type", refused("hone trains the texts of such models: remove it")},
          {"dataset_exact_deduplication", refused("use hone prepare --dedup")},
          {"group_by_length", refused("remove it: rows are packed and never padded")},
          {"gptq", refused("hone keeps weights in 4 or 8 bits by load_in_4bit and load_in_8bit")},
          {"lora_fan_in_fan_out", refused("remove it")},
          {"cosine_constant_lr_ratio", refused("use lr_scheduler: warmup_stable_decay")},
          {"lr_quadratic_warmup", refused("hone's warmup is linear")},
          {"process_reward_model", refused("hone rewards whole answers")},
          {"streaming", refused("rows of answers are read into memory")},
          {"pose_num_chunks", refused("remove it")},
          {"relora", refused("use adapter: lora")},
          {"torch_dtype",
           only({"bfloat16", "float32"}, "weights are kept in float32; bf16 is the precision")},
          {"tokenizer_legacy", only({"true", "True"}, "hone reads tokenizer.json")},
          {"tokenizer_use_mistral_common", refused("hone reads tokenizer.json")},
          {"freeze_mm_modules"},
          {"context_parallel_size", only({"1"}, ranks)},
          {"sequence_parallel_degree", only({"1"}, ranks)},
          {"tensor_parallel_size", only({"1"}, ranks)},
          {"expert_parallel_size", only({"1"}, ranks)},
          {"dp_replicate_size", groups_of_ranks()},
          {"sample_packing", [](const ConfigBlock& b, const std::string& key) {
             if (b.flag(key))
               b.note(key,
                      "rows are packed, but a step counts rows: micro_batch_size rows, not packs "
                      "of sequence_len tokens");
           }}};
}

// Names of logs, kernels with the same results, and work that hone does in its own way.
constexpr const char* kNoEffect[] = {"accelerator_config",
                                     "attn_implementation",
                                     "auto_resume_from_checkpoints",
                                     "chunked_cross_entropy",
                                     "comet_api_key",
                                     "comet_mode",
                                     "comet_project_name",
                                     "comet_workspace",
                                     "cut_cross_entropy",
                                     "dataloader_num_workers",
                                     "dataloader_pin_memory",
                                     "dataloader_prefetch_factor",
                                     "dataset_keep_in_memory",
                                     "dataset_num_proc",
                                     "dataset_prepared_path",
                                     "dataset_processes",
                                     "ddp",
                                     "ddp_broadcast_buffers",
                                     "ddp_bucket_cap_mb",
                                     "ddp_find_unused_parameters",
                                     "ddp_timeout",
                                     "debug",
                                     "device_map",
                                     "dp_shard_size",
                                     "eager_attention",
                                     "eot_tokens",
                                     "eval_sample_packing",
                                     "experimental_skip_move_to_device",
                                     "experts_implementation",
                                     "flash_attention",
                                     "flash_attn_cross_entropy",
                                     "flash_attn_d512",
                                     "flash_attn_fuse_mlp",
                                     "flash_attn_fuse_qkv",
                                     "flash_attn_rms_norm",
                                     "flash_optimum",
                                     "flex_attention",
                                     "flex_attn_compile_kwargs",
                                     "fsdp_version",
                                     "fused_attn_kernel",
                                     "gc_steps",
                                     "gradient_checkpointing_kwargs",
                                     "hf_use_auth_token",
                                     "hub_model_id",
                                     "hub_private_repo",
                                     "hub_revision",
                                     "hub_strategy",
                                     "include_tokens_per_second",
                                     "is_falcon_derived_model",
                                     "is_llama_derived_model",
                                     "is_mistral_derived_model",
                                     "is_qwen_derived_model",
                                     "liger_cross_entropy",
                                     "liger_fused_linear_cross_entropy",
                                     "liger_glu_activation",
                                     "liger_layer_norm",
                                     "liger_rms_norm",
                                     "liger_rms_norm_gated",
                                     "liger_rope",
                                     "local_rank",
                                     "lora_embedding_kernel",
                                     "lora_mlp_kernel",
                                     "lora_o_kernel",
                                     "lora_on_cpu",
                                     "lora_qkv_kernel",
                                     "loss_watchdog_patience",
                                     "loss_watchdog_threshold",
                                     "low_cpu_mem_usage",
                                     "max_packed_sequence_len",
                                     "mlflow_experiment_name",
                                     "mlflow_run_name",
                                     "mlflow_tracking_uri",
                                     "otel_metrics_host",
                                     "otel_metrics_port",
                                     "pad_to_sequence_len",
                                     "pretrain_multipack_attn",
                                     "profiler_steps",
                                     "push_dataset_to_hub",
                                     "ray_num_workers",
                                     "remove_unused_columns",
                                     "sage_attention",
                                     "sample_packing_bin_size",
                                     "sample_packing_eff_est",
                                     "sample_packing_group_size",
                                     "sample_packing_sequentially",
                                     "save_first_step",
                                     "save_safetensors",
                                     "sdp_attention",
                                     "sdpa_varlen",
                                     "shuffle_merged_datasets",
                                     "skip_prepare_dataset",
                                     "strict",
                                     "swanlab_completion_log_interval",
                                     "swanlab_completion_max_buffer",
                                     "swanlab_description",
                                     "swanlab_experiment_name",
                                     "swanlab_log_completions",
                                     "swanlab_log_model",
                                     "swanlab_mode",
                                     "swanlab_project",
                                     "swanlab_workspace",
                                     "tf32",
                                     "tiled_mlp",
                                     "tokenizer_save_jinja_files",
                                     "tokenizer_type",
                                     "tokenizer_use_fast",
                                     "torch_compile",
                                     "torch_compile_backend",
                                     "torch_compile_mode",
                                     "torch_empty_cache_steps",
                                     "trackio_project_name",
                                     "trackio_run_name",
                                     "trackio_space_id",
                                     "trust_remote_code",
                                     "use_comet",
                                     "use_kernels",
                                     "use_otel_metrics",
                                     "use_ray",
                                     "use_scattermoe",
                                     "use_sonicmoe",
                                     "use_swanlab",
                                     "use_trackio",
                                     "use_wandb",
                                     "wandb_entity",
                                     "wandb_log_model",
                                     "wandb_mode",
                                     "wandb_name",
                                     "wandb_project",
                                     "wandb_run_id",
                                     "wandb_watch",
                                     "xformers_attention"};

// Keys that the functions above and axolotl_datasets.cc read.
constexpr const char* kReadElsewhere[] = {"adapter",
                                          "batch_size",
                                          "bf16",
                                          "bfloat16",
                                          "bnb_config_kwargs",
                                          "center_rewards_coefficient",
                                          "chat_template",
                                          "chat_template_jinja",
                                          "cosine_min_lr_ratio",
                                          "datasets",
                                          "dpo_beta",
                                          "dpo_label_smoothing",
                                          "dpo_loss_type",
                                          "eval_batch_size",
                                          "eval_steps",
                                          "eval_strategy",
                                          "evals_per_epoch",
                                          "evaluation_strategy",
                                          "excess_length_strategy",
                                          "float16",
                                          "fp16",
                                          "fsdp",
                                          "fsdp_config",
                                          "gradient_accumulation_steps",
                                          "load_in_4bit",
                                          "load_in_8bit",
                                          "lora_alpha",
                                          "lora_dropout",
                                          "lora_r",
                                          "lora_target_linear",
                                          "lora_target_modules",
                                          "micro_batch_size",
                                          "num_epochs",
                                          "optim_args",
                                          "pretraining_dataset",
                                          "reward_model",
                                          "rl",
                                          "rl_beta",
                                          "save_steps",
                                          "save_strategy",
                                          "saves_per_epoch",
                                          "sequence_len",
                                          "test_datasets",
                                          "train_on_inputs",
                                          "val_set_size",
                                          "warmup_ratio",
                                          "warmup_steps"};

void read_axolotl(const ConfigBlock& b) {
  b.set("do_train", true, "base_model");
  if (!b.has("output_dir")) b.set_default("output_dir", "./model-out", "output_dir");
  std::vector<ConfigKey> keys = keys_with_settings();
  for (const auto& [key, setting] : kSameValues) keys.push_back({key, sets(setting)});
  for (const char* key : kNoEffect) keys.push_back({key});
  for (const char* key : kReadElsewhere) keys.push_back({key, seen()});
  b.walk(keys);
  const AxolotlTask task = read_axolotl_datasets(b);
  read_length(b, task);
  read_batch_size(b);
  read_optimizer(b);
  read_when(b, task);
  read_adapter(b);
  read_precision(b);
  read_fsdp(b);
}

}  // namespace

OtherConfig other_config_axolotl() {
  return {.program = "Axolotl",
          .is_mine =
              [](const Json& file) {
                const auto has = [&](const char* key) { return file.contains(key); };
                return has("base_model") &&
                       (has("datasets") || has("micro_batch_size") || has("sequence_len") ||
                        has("adapter") || has("num_epochs"));
              },
          .read = read_axolotl};
}

}  // namespace hone
