#include "base/settings/meant.h"

#include <algorithm>

namespace hone {
namespace {

struct Meaning {
  std::string_view name;
  std::vector<std::string_view> means;  // the first that a command has
};

const std::vector<Meaning>& meanings() {
  static const std::vector<Meaning> all = {
      {"batch_size", {"per_device_train_batch_size", "per_device_eval_batch_size"}},
      {"bs", {"per_device_train_batch_size", "per_device_eval_batch_size"}},
      {"train_batch_size", {"per_device_train_batch_size"}},
      {"micro_batch_size", {"per_device_train_batch_size"}},
      {"per_device_batch_size", {"per_device_train_batch_size"}},
      {"eval_batch_size", {"per_device_eval_batch_size"}},
      {"test_batch_size", {"per_device_eval_batch_size"}},
      {"lr", {"learning_rate"}},
      {"epochs", {"num_train_epochs"}},
      {"epoch", {"num_train_epochs"}},
      {"num_epochs", {"num_train_epochs"}},
      {"n_epochs", {"num_train_epochs"}},
      {"max_epochs", {"num_train_epochs"}},
      {"steps", {"max_steps"}},
      {"num_steps", {"max_steps"}},
      {"total_steps", {"max_steps"}},
      {"max_train_steps", {"max_steps"}},
      {"grad_accum", {"gradient_accumulation_steps"}},
      {"grad_acc_steps", {"gradient_accumulation_steps"}},
      {"accumulation_steps", {"gradient_accumulation_steps"}},
      {"accumulate_grad_batches", {"gradient_accumulation_steps"}},
      {"warmup", {"warmup_steps"}},
      {"num_warmup_steps", {"warmup_steps"}},
      {"scheduler", {"lr_scheduler_type"}},
      {"lr_schedule", {"lr_scheduler_type"}},
      {"optimizer", {"optim"}},
      {"wd", {"weight_decay"}},
      {"grad_clip", {"max_grad_norm"}},
      {"clip_grad_norm", {"max_grad_norm"}},
      {"gradient_clipping", {"max_grad_norm"}},
      {"gradient_clip_val", {"max_grad_norm"}},
      {"label_smoothing", {"label_smoothing_factor"}},
      {"model", {"model_name_or_path"}},
      {"model_name", {"model_name_or_path"}},
      {"model_path", {"model_name_or_path"}},
      {"model_id", {"model_name_or_path"}},
      {"checkpoint", {"resume_from_checkpoint", "model_name_or_path"}},
      {"resume", {"resume_from_checkpoint"}},
      {"tokenizer", {"tokenizer_name", "model_name_or_path"}},
      {"config", {"config_name"}},
      {"dataset", {"dataset_name"}},
      {"data", {"train_file"}},
      {"train_data", {"train_file"}},
      {"train_data_file", {"train_file"}},
      {"training_file", {"train_file"}},
      {"data_path", {"train_file"}},
      {"eval_file", {"validation_file"}},
      {"eval_data_file", {"validation_file"}},
      {"valid_file", {"validation_file"}},
      {"dev_file", {"validation_file"}},
      {"output", {"output_dir"}},
      {"output_path", {"output_dir"}},
      {"out_dir", {"output_dir"}},
      {"save_dir", {"output_dir"}},
      {"save_every", {"save_steps"}},
      {"eval_every", {"eval_steps"}},
      {"log_every", {"logging_steps"}},
      {"log_interval", {"logging_steps"}},
      {"eval_interval", {"eval_steps"}},
      {"seq_length", {"block_size", "max_seq_length", "max_source_length"}},
      {"seq_len", {"block_size", "max_seq_length", "max_source_length"}},
      {"max_seq_length", {"block_size", "max_source_length"}},
      {"max_seq_len", {"block_size", "max_seq_length", "max_source_length"}},
      {"max_length", {"block_size", "max_seq_length", "max_source_length"}},
      {"context_length", {"block_size", "max_seq_length"}},
      {"mixed_precision", {"bf16"}},
      {"precision", {"bf16"}},
      {"random_seed", {"seed"}},
      {"num_threads", {"threads"}},
      {"num_workers", {"threads"}},
      {"n_samples", {"max_train_samples", "samples"}},
      {"max_samples", {"max_train_samples"}},
      {"patience", {"early_stopping_patience"}},
      {"max_tokens", {"max_new_tokens"}},
      {"num_tokens", {"max_new_tokens"}},
      {"max_new_tokens", {"generation_max_length"}},
      {"beams", {"num_beams"}},
      {"beam_size", {"num_beams"}},
      {"temp", {"temperature"}},
      {"input_file", {"input", "prompt_file", "train_file"}},
      {"memory", {"device_memory"}}};
  return all;
}

}  // namespace

std::string meant_by(std::string_view name, const std::vector<std::string>& known) {
  for (const Meaning& m : meanings()) {
    if (m.name != name) continue;
    for (const std::string_view means : m.means)
      if (std::find(known.begin(), known.end(), means) != known.end()) return std::string(means);
  }
  return "";
}

}  // namespace hone
