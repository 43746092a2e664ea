#include "base/store/hub.h"

#include <algorithm>

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/store/errors.h"
#include "base/store/store.h"

namespace hone {
namespace {

// '*' stands for any text.
bool matches(std::string_view pattern, std::string_view name) {
  size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == name;
  if (!name.starts_with(pattern.substr(0, star))) return false;
  pattern.remove_prefix(star + 1);
  for (name.remove_prefix(star);; name.remove_prefix(1)) {
    if (matches(pattern, name)) return true;
    if (name.empty()) return false;
  }
}

bool is_weights(const std::string& file) {
  return file.find('/') == std::string::npos &&
         (file.ends_with(".safetensors") || file.ends_with(".gguf") ||
          (file.starts_with("pytorch_model") && file.ends_with(".bin")));
}

bool is_in_cache(const std::string& name) {
  const std::string id = name.substr(0, name.find('@'));
  return path_exists(hub_cache_folder() + "/models--" + id) ||
         path_exists(hub_cache_folder() + "/datasets--" + id);
}

std::string without_digits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

// Whether a snapshot can be used as it is.
bool complete(const std::string& snapshot, const std::vector<std::string>& files, bool weights) {
  if (!weights || files.empty()) return !files.empty();
  // An index names the shards; one that is missing makes the snapshot useless.
  for (const char* name : {"/model.safetensors.index.json", "/pytorch_model.bin.index.json"}) {
    Result<Json> index = read_json_file(snapshot + name);
    if (!index.ok() || !index->is_object() || !index->contains("weight_map")) continue;
    for (const Json& shard : (*index)["weight_map"]) {
      if (!shard.is_string()) continue;
      // GCC 13 compares no string with a Json inside std::find.
      if (std::find(files.begin(), files.end(), shard.get<std::string>()) == files.end())
        return false;
    }
    break;  // the first is the one that is read
  }
  return std::any_of(files.begin(), files.end(), is_weights);
}

// A file of a module of sentence-transformers: "1_Pooling/config.json", "2_Dense/model.safetensors".
bool is_module_file(const std::string& file, bool weights) {
  const size_t slash = file.find('/');
  if (slash == 0 || slash == std::string::npos || file[0] < '0' || file[0] > '9') return false;
  const std::string name = file.substr(slash + 1);
  return name == "config.json" ||
         (weights && (name == "model.safetensors" || name == "pytorch_model.bin"));
}

}  // namespace

std::vector<std::string> wanted_files(const std::vector<std::string>& all, bool weights,
                                      const std::vector<std::string>& also) {
  static const char* const kSmall[] = {"config.json",
                                       "generation_config.json",
                                       "hone_task.json",
                                       "tokenizer.json",
                                       "tokenizer_config.json",
                                       "special_tokens_map.json",
                                       "added_tokens.json",
                                       "vocab.json",
                                       "merges.txt",
                                       "vocab.txt",
                                       "spiece.model",
                                       "tokenizer.model",
                                       "sentencepiece.bpe.model",
                                       "source.spm",
                                       "target.spm",
                                       "chat_template.jinja",
                                       "chat_template.json",
                                       "modules.json",
                                       "config_sentence_transformers.json",
                                       "sentence_bert_config.json",
                                       "preprocessor_config.json",
                                       "processor_config.json",
                                       "adapter_config.json"};
  auto has = [&](const char* name) { return std::find(all.begin(), all.end(), name) != all.end(); };
  bool one = has("model.safetensors"), shards = has("model.safetensors.index.json");
  // Files of torch.save are taken only if there is nothing better.
  bool torch_one = has("pytorch_model.bin");
  bool torch = weights && std::none_of(all.begin(), all.end(), [](const std::string& f) {
                 return is_weights(f) && f.ends_with(".safetensors") && !f.starts_with("adapter_");
               });
  std::vector<std::string> out;
  const bool modules = has("modules.json");
  for (const std::string& f : all) {
    if (modules && is_module_file(f, weights)) out.push_back(f);
    if (f.find('/') != std::string::npos || f.empty() || f[0] == '.') continue;
    bool take =
        std::any_of(std::begin(kSmall), std::end(kSmall), [&](const char* s) { return f == s; });
    take = take || std::any_of(also.begin(), also.end(),
                               [&](const std::string& p) { return matches(p, f); });
    if (weights && f.ends_with(".safetensors")) {
      // Repositories often hold the same weights again in other cuts (consolidated.safetensors,
      // model.fp16.safetensors): the standard names go first.
      if (one)
        take = take || f == "model.safetensors" || f.starts_with("adapter_");
      else if (shards)
        take = take || matches("model-*-of-*.safetensors", f);
      else
        take = true;
    }
    if (weights && f == "model.safetensors.index.json") take = !one;
    if (torch && f == "pytorch_model.bin") take = true;
    if (torch && !torch_one)
      take = take || f == "pytorch_model.bin.index.json" || matches("pytorch_model-*-of-*.bin", f);
    if (take) out.push_back(f);
  }
  return out;
}

std::string misspelt_place(const std::string& name, const std::string& folder) {
  constexpr size_t kLeastLetters = 3;  // shorter names are near to too many
  if (name.size() < kLeastLetters || name.find('/') != std::string::npos || is_in_cache(name))
    return "";
  std::vector<std::string> there = names_in(folder);
  std::erase_if(there, [&](const std::string& other) {
    const bool longer = other.starts_with(name) && other.size() > name.size() + 1;
    return longer || without_digits(other) == without_digits(name);
  });
  return nearest_name(name, there);
}

std::string taken_from_hub(const std::string& name, HubKind kind) {
  const bool model = kind == HubKind::kModel;
  const std::string near = misspelt_place(name);
  return fmt::format("'{}' is not a {}, so it is taken as a {} of the hub{}", name,
                     model ? place_kind(name) : "file or folder", model ? "model" : "data set",
                     near.empty() ? "" : fmt::format("; did you mean '{}'?", near));
}

Result<std::string> resolve_model(const std::string& name, const ResolveOptions& options) {
  if (!name.starts_with("hf://") && !name.empty() && HONE_TRY(file_store().exists(name)))
    return name;
  if (name.starts_with("/") || name.starts_with("./") || name.starts_with("../") ||
      name.starts_with("~")) {
    return Error(err::kStoreMissing, fmt::format("there is no {} '{}'", place_kind(name), name))
        .todo("check the path; relative paths start at the current folder");
  }
  Result<HubRepository> opened =
      HubRepository::open(HubKind::kModel, name, options,
                          [&](const std::string& snapshot, const std::vector<std::string>& files) {
                            return complete(snapshot, files, options.weights);
                          });
  if (!opened.ok() && opened.error().is(err::kNetwork))
    return std::move(opened.error()).at(taken_from_hub(name, HubKind::kModel));
  HubRepository repo = HONE_TRY(std::move(opened));
  if (repo.from_cache()) return repo.snapshot();
  std::vector<std::string> wanted = wanted_files(repo.files(), options.weights, options.also);
  if (options.weights && !std::any_of(wanted.begin(), wanted.end(), is_weights)) {
    return Error(err::kHubNoWeights,
                 fmt::format("'{}' has no weights in a format that hone reads", name))
        .at(fmt::format("{} files at revision {}", repo.files().size(), repo.revision()))
        .todo(
            "hone reads safetensors and pytorch_model.bin; many models have a converted copy: look "
            "for a revision such as refs/pr/1 on the model's page and give it as name@revision");
  }
  for (const std::string& file : wanted) HONE_TRY(repo.file(file));
  HONE_TRY(repo.remember());
  return repo.snapshot();
}

}  // namespace hone
