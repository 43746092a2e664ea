// hone convert IN OUT: whatever hone opens becomes a Transformers folder with safetensors, or a
// file as torch.save writes it.
#include <algorithm>
#include <filesystem>
#include <map>

#include "base/core/log.h"
#include "base/core/text.h"
#include "base/store/new_folders.h"
#include "base/store/store.h"
#include "learn/checkpoint/torch/torch_file.h"
#include "learn/pretrained/pretrained.h"
#include "learn/pretrained/sentence_modules.h"
#include "run/commands/command.h"
#include "run/commands/errors.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

struct ConvertSettings {
#define HONE_SETTINGS "run/commands/convert.def"
#include "base/settings/fields.inc"
};

std::optional<DType> dtype_asked(const std::string& name) {
  if (name.empty()) return {};
  if (name.starts_with("bf")) return DType::bf16;
  return name.ends_with("16") ? DType::f16 : DType::f32;
}

// The file is new, or may be replaced; and no input.
Status check_file(const ConvertSettings& s, const WeightSource& weights) {
  std::error_code ec;
  const fs::path beside = fs::path(s.output).parent_path();
  const bool read =
      std::any_of(weights.tensors().begin(), weights.tensors().end(),
                  [&](const TensorInfo& t) { return fs::equivalent(t.file, s.output, ec); });
  if (read)
    return Error(err::kOutputIsInput, fmt::format("'{}' is the model that is converted", s.output))
        .todo("name another file");
  if (is_folder(s.output) || (path_exists(s.output) && !s.overwrite_output_dir))
    return Error(err::kFileExists, fmt::format("'{}' is there", s.output))
        .todo("name a new file, or pass --overwrite_output_dir");
  return beside.empty() ? Status(Ok{}) : file_store().make_dirs(beside.string());
}

Status check_folder(const ConvertSettings& s, const std::string& path) {
  std::error_code ec;
  const fs::path source = is_folder(path) ? fs::path(path) : fs::absolute(path, ec).parent_path();
  if (fs::equivalent(source, s.output, ec))
    return Error(err::kOutputIsInput,
                 fmt::format("'{}' holds the model that is converted", s.output))
        .todo("name another folder");
  if (path_exists(s.output) && !is_folder(s.output))
    return Error(err::kFileExists, fmt::format("'{}' is a file; a folder is written", s.output))
        .todo("name another folder");
  if (!s.overwrite_output_dir && is_folder(s.output) && !fs::is_empty(s.output, ec))
    return Error(err::kFileExists, fmt::format("'{}' holds files", s.output))
        .todo("name a new folder, or pass --overwrite_output_dir");
  return Ok{};
}

// The element type of most weights, as --outtype names it; of quantised ones f16.
std::string stored_outtype(const WeightSource& weights) {
  std::map<std::string, int64_t> elements;
  for (const TensorInfo& t : weights.tensors())
    elements[!t.scheme.empty()             ? "f16"
             : t.type.dtype == DType::bf16 ? "bf16"
             : t.type.dtype == DType::f16  ? "f16"
                                           : "f32"] += t.type.count();
  return std::max_element(elements.begin(), elements.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

Result<int64_t> write_gguf(const ConvertSettings& s, const Pretrained& model) {
  HONE_TRY(check_file(s, *model.weights));
  const std::optional<DType> dtype = dtype_asked(s.dtype);
  HONE_TRY(save_gguf(s.output, *model.weights, model,
                     !s.outtype.empty() ? s.outtype
                     : dtype            ? std::string(name_of(*dtype))
                                        : stored_outtype(*model.weights)));
  std::error_code ec;
  return static_cast<int64_t>(fs::file_size(s.output, ec));
}

// Writes what was asked for; returns the bytes of weights.
Result<int64_t> write(const ConvertSettings& s, const Pretrained& model) {
  std::error_code ec;
  if (s.output.ends_with(".gguf")) return write_gguf(s, model);
  if (!s.outtype.empty())
    return Error(err::kMissingArgument,
                 fmt::format("--outtype {} is for .gguf files, and '{}' is not one", s.outtype,
                             s.output))
        .todo("name a file that ends in .gguf, or say the element type by --dtype");
  for (const char* ending : {".safetensors", ".onnx", ".h5", ".msgpack", ".tflite", ".ckpt"})
    if (s.output.ends_with(ending))
      return Error(err::kMissingArgument,
                   fmt::format("hone convert does not write {} files", ending))
          .at(s.output)
          .todo("name a folder, which gets model.safetensors, or a .gguf, .bin, .pt or .pth file");
  if (!is_torch_file_name(s.output)) {
    HONE_TRY(check_folder(s, model.path));
    HONE_TRY(save_pretrained(s.output, *model.weights, model, dtype_asked(s.dtype)));
    if (model.config.head == Head::none)
      HONE_TRY(copy_sentence_modules(model.path, s.output, model.config.hidden));
    int64_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(s.output, ec))
      if (entry.path().extension() == ".safetensors")
        bytes += static_cast<int64_t>(entry.file_size(ec));
    return bytes;
  }
  HONE_TRY(check_file(s, *model.weights));
  const fs::path file(s.output), folder = file.parent_path();
  if (!folder.empty() && fs::is_empty(folder, ec))
    HONE_TRY(save_pretrained(folder.string(), *model.weights, model, dtype_asked(s.dtype),
                             file.filename().string()));
  else
    HONE_TRY(save_torch_weights(s.output, *model.weights, model, dtype_asked(s.dtype)));
  return static_cast<int64_t>(fs::file_size(file, ec));
}

Result<int> run_convert(const std::vector<std::string>& args) {
  ConvertSettings s;
  Schema schema("hone convert", "write a model as a Transformers folder with safetensors");
  s.bind(schema);
  schema.positional("input");
  schema.positional("output");
  if (HONE_TRY(parse_settings(schema, args)).done) return kExitDone;
  OpenOptions options = open_options(s);
  options.need_tokenizer = false;
  Pretrained model = HONE_TRY(open_pretrained(s.input, options));
  HONE_TRY(merge_adapter(model));
  const NewFolders made(s.output);
  const int64_t bytes = HONE_TRY(write(s, model));
  if (dtype_asked(s.dtype) == DType::f16 && !family_of(model.config).safe_in_f16)
    log_warning(
        "{} models are known to overflow when they compute in float16: --dtype bfloat16 keeps "
        "their range",
        model.config.family);
  log_info("{}: {} with {} parameters, {} of weights, {}", s.output, architecture_of(model.config),
           parameter_count(model.config), format_bytes(bytes),
           model.tokenizer ? fmt::format("tokenizer of {} tokens", model.tokenizer->vocab_size())
                           : "no tokenizer");
  return kExitDone;
}

}  // namespace

Command command_convert() {
  return {.name = "convert",
          .summary = "convert a model between safetensors, GGUF and PyTorch files",
          .in = CommandGroup::kUse,
          .run = run_convert};
}

}  // namespace hone
