#include "learn/pretrained/gguf_modules.h"

#include "learn/checkpoint/gguf/errors.h"

namespace hone {
namespace {

constexpr const char *kPooling = ".pooling_type", *kModules = "hone.sentence_modules";

struct PoolingType {
  const char* name;
  int64_t number;  // in the file
};
constexpr PoolingType kPoolingTypes[] = {{"mean", 1}, {"cls", 2}, {"lasttoken", 3}};

}  // namespace

Result<GgufMetadata> gguf_modules(const SentenceModules& modules, const std::string& architecture) {
  const auto refused = [](std::string what) {
    return Error(err::kGgufUnsupported, std::move(what)).todo("name a folder in place of the file");
  };
  if (!modules.form.dense.empty())
    return refused(
        "llama.cpp has no dense layers after pooling: the model has some in modules.json");
  GgufMetadata m;
  for (const PoolingType& type : kPoolingTypes)
    if (modules.form.pooling == std::vector<std::string>{type.name})
      m.emplace_back(architecture + kPooling, type.number);
  if (m.empty())
    return refused(fmt::format("llama.cpp has no pooling like the model's, {}",
                               fmt::join(modules.form.pooling, " and ")));
  const Json rest = {{"normalize", modules.form.normalize},
                     {"max_seq_length", modules.max_seq_length},
                     {"prompts", modules.prompts},
                     {"default_prompt_name", modules.default_prompt_name},
                     {"similarity", modules.similarity}};
  m.emplace_back(kModules, dump_json(rest));
  return m;
}

Result<std::optional<SentenceModules>> read_gguf_modules(const GgufFile& file,
                                                         const std::string& path) {
  const auto* architecture = file.get<std::string>("general.architecture");
  const int64_t* number =
      architecture == nullptr ? nullptr : file.get<int64_t>(*architecture + kPooling);
  if (number == nullptr || *number == 0 || *number == kRankPooling)
    return std::optional<SentenceModules>();
  SentenceModules modules;
  modules.form.pooling.clear();
  for (const PoolingType& type : kPoolingTypes)
    if (type.number == *number) modules.form.pooling = {type.name};
  if (modules.form.pooling.empty())
    return Error(err::kGgufUnsupported,
                 fmt::format("'{}' has the pooling_type {}, which is not supported", path, *number))
        .todo("files with 1 (mean), 2 (cls) and 3 (last) work");
  modules.form.normalize = true;
  const auto* text = file.get<std::string>(kModules);
  if (text == nullptr) return std::optional(std::move(modules));
  const Json rest = HONE_TRY(parse_json(*text, kModules));
  const Json& prompts = value_at(rest, "prompts");
  modules.form.normalize = value_at(rest, "normalize") != Json(false);
  modules.max_seq_length = whole_at(rest, "max_seq_length");
  modules.default_prompt_name = text_at(rest, "default_prompt_name");
  if (const std::string name = text_at(rest, "similarity"); !name.empty())
    modules.similarity = name;
  if (prompts.is_object())
    for (const auto& [name, prompt] : prompts.items())
      if (prompt.is_string()) modules.prompts[name] = prompt.get<std::string>();
  return std::optional(std::move(modules));
}

}  // namespace hone
