#include "operate/pipeline/recipe/recipe_reader.h"

#include <algorithm>
#include <set>

#include "base/core/redact.h"
#include "operate/pipeline/errors.h"
#include "operate/pipeline/pipeline.h"

namespace hone {
namespace {

struct FlagBlock {
  const char* name;
  OrderedJson Recipe::*member;
  std::vector<std::string> RecipeFlags::*words;  // null: its members are not flags
};
// Flags that decide rows come first from `train`, where most files have them.
constexpr FlagBlock kBlocks[] = {{"train", &Recipe::train, &RecipeFlags::train},
                                 {"preprocess", &Recipe::preprocess, &RecipeFlags::preprocess},
                                 {"generate", &Recipe::generate, &RecipeFlags::generate},
                                 {"evaluate", &Recipe::evaluate, &RecipeFlags::evaluate},
                                 {"policy", &Recipe::policy, nullptr}};

// Flags that the pipeline gives itself.
const std::set<std::string> kOwn = {"task",
                                    "model_name_or_path",
                                    "output_dir",
                                    "train_file",
                                    "validation_file",
                                    "dataset_name",
                                    "dataset_config_name",
                                    "do_train",
                                    "json",
                                    "resume_from_checkpoint",
                                    "test_file",
                                    "config",
                                    "overwrite_output_dir"};

std::string word_of(const OrderedJson& value) {
  return value.is_string() ? value.get<std::string>() : dump_json(value);
}

void append_words(std::vector<std::string>& words, const OrderedJson& value) {
  if (!value.is_array()) return words.push_back(word_of(value));
  for (const OrderedJson& v : value) words.push_back(word_of(v));
}

void append_flag(std::vector<std::string>& words, const std::string& name,
                 const OrderedJson& value) {
  words.push_back("--" + name);
  append_words(words, value);
}

Error not_an_object(const std::string& key, const std::string& place) {
  return Error(err::kPipelineFile, fmt::format("'{}' is not an object", key))
      .at(place)
      .todo(key == "policy"
                ? "write the policy here as an object, such as {\"metric\": \"accuracy\", "
                  "\"floor\": 0.8}"
                : fmt::format("write its keys here as an object: \"{}\": {{...}}", key));
}

Error said_twice(const std::string& what, const std::string& first, const std::string& second) {
  return Error(err::kPipelineKey, what).at(first).at(second).todo("keep one of the two");
}

}  // namespace

const std::vector<RecipeKey>& recipe_keys() {
  static const std::vector<RecipeKey> keys = {
#define KEY(name_, type, value, ...) {.name = #name_, .member = &Recipe::name_, __VA_ARGS__},
#include "operate/pipeline/recipe/recipe_keys.def"
#undef KEY
  };
  return keys;
}

std::string RecipeReader::place(const std::string& key) const {
  const auto at = given_.find(key);
  return at == given_.end() ? tree_.name : at->second;
}

Result<Recipe> RecipeReader::read() {
  for (const auto& [key, value] : tree_.value.items())
    HONE_TRY(read_top(key, value, "/" + pointer_part(key)));
  for (const RecipeKey& key : recipe_keys())
    if (key.required && !given(key.name))
      return Error(err::kPipelineFile, fmt::format("'{}' is missing", key.name))
          .at(tree_.name)
          .todo("give it, or 'steps' for a pipeline of other steps");
  HONE_TRY(check_bounds());
  return recipe_;
}

Status RecipeReader::read_top(const std::string& key, const OrderedJson& value,
                              const std::string& pointer) {
  std::vector<std::string> names;
  for (const FlagBlock& block : kBlocks) {
    names.push_back(block.name);
    if (key != block.name) continue;
    if (!value.is_object()) return not_an_object(key, tree_.place(pointer));
    recipe_.*block.member = value;
    return Ok{};
  }
  for (const RecipeKey& k : recipe_keys()) {
    if (key == k.name) return set(k, value, pointer);
    names.push_back(k.name);
    if (k.block.empty()) continue;
    if (key == k.block) return read_block(key, value, pointer);
    if (std::find(names.begin(), names.end(), k.block) == names.end()) names.push_back(k.block);
  }
  return unknown_key(key, names, tree_.place(pointer));
}

Status RecipeReader::read_block(const std::string& block, const OrderedJson& value,
                                const std::string& pointer) {
  if (!value.is_object()) return not_an_object(block, tree_.place(pointer));
  const auto& keys = recipe_keys();
  std::vector<std::string> members;
  for (const RecipeKey& k : keys)
    if (k.block == block) members.push_back(k.inside);
  for (const auto& [member, v] : value.items()) {
    const std::string& name = member;
    const std::string below = pointer + "/" + pointer_part(name);
    const auto known = std::find_if(keys.begin(), keys.end(), [&](const RecipeKey& k) {
      return k.block == block && k.inside == name;
    });
    if (known == keys.end()) return unknown_key(name, members, tree_.place(below));
    HONE_TRY(set(*known, v, below));
  }
  return Ok{};
}

Field RecipeReader::field(const RecipeKey& key) {
  return std::visit([&](auto member) -> Field { return &(recipe_.*member); }, key.member);
}

Status RecipeReader::set(const RecipeKey& key, const OrderedJson& value,
                         const std::string& pointer) {
  const std::string where = tree_.place(pointer);
  if (const auto [at, fresh] = given_.emplace(key.name, where); !fresh)
    return said_twice(fmt::format("'{}' is given twice", key.name), at->second, where);
  const Field target = field(key);
  const bool is_text = std::holds_alternative<std::string*>(target);
  if (value.is_structured() || value.is_null() || value.is_boolean() ||
      (is_text && !value.is_string() && !value.is_number()) ||
      !assign(target, Json(word_of(value))))
    return Error(err::kPipelineFile,
                 fmt::format("{} is {}, not {}", key.name, dump_json(value), expected(target)))
        .at(where);
  return Ok{};
}

Status RecipeReader::check_bounds() {
  for (const RecipeKey& key : recipe_keys()) {
    const OrderedJson value = value_of(field(key));
    if (!value.is_number()) continue;
    const double x = value.get<double>();
    if (x >= key.least && x <= key.most) continue;
    return Error(err::kPipelineFile, fmt::format("{} is {}", key.name, value_text(value)))
        .at(place(key.name))
        .todo(fmt::format("write a number from {} to {}", key.least, key.most));
  }
  return Ok{};
}

Status RecipeReader::check_flag(const std::string& name, const std::string& shown,
                                const std::string& where) const {
  if (kOwn.contains(name))
    return Error(err::kPipelineKey, fmt::format("the pipeline sets '{}' itself", shown))
        .at(where)
        .todo(name == "validation_file"
                  ? "remove it, and name a folder that holds train and validation files as dataset"
                  : "remove it");
  if (names_a_secret(name))
    return Error(err::kPipelineKey, fmt::format("'{}' is a secret", shown))
        .at(where)
        .todo("set it in the environment: HF_TOKEN for the hub");
  for (const RecipeKey& key : recipe_keys())
    if (name == key.flag && given(key.name))
      return said_twice(fmt::format("'{}' says what '{}' says", shown, key.name), place(key.name),
                        where);
  return Ok{};
}

// Whether the values of a flag are columns of the files.
static bool names_columns(const std::string& flag) {
  return flag.ends_with("_column") || flag.ends_with("_column_name") ||
         flag.ends_with("_column_names");
}

Result<RecipeFlags> RecipeReader::flags(const RecipeTask& task) const {
  RecipeFlags out;
  std::map<std::string, std::string> seen;  // a setting that decides rows -> its place
  for (const RecipeKey& key : recipe_keys())
    if (!key.flag.empty() && given(key.name)) out.places.emplace(key.flag, place(key.name));
  for (const FlagBlock& block : kBlocks) {
    if (block.words == nullptr) continue;
    for (const auto& [key, value] : (recipe_.*block.member).items()) {
      const std::string where = tree_.place(fmt::format("/{}/{}", block.name, pointer_part(key)));
      std::string name = key;
      std::replace(name.begin(), name.end(), '-', '_');
      HONE_TRY(check_flag(name, key, where));
      if (value.is_null()) continue;
      out.places.emplace(name, where);
      if (task.reading.contains(name) && names_columns(name)) {
        std::vector<std::string> columns;
        append_words(columns, value);
        for (const std::string& column : columns)
          if (!column.empty()) out.columns.emplace_back(column, where);
      }
      if (name == "slice_columns") {
        append_words(out.slices, value);
        continue;
      }
      std::vector<std::string>* words = &(out.*block.words);
      for (const auto& [of, part] : {std::pair(&task.rows, &out.rows),
                                     {&task.reading, &out.reading},
                                     {&task.answers, &out.generate}}) {
        const auto setting = of->find(name);
        if (setting == of->end()) continue;
        words = part;
        if (const auto [at, fresh] = seen.emplace(setting->second, where); !fresh)
          return said_twice(fmt::format("'{}' is given twice", key), at->second, where);
      }
      append_flag(*words, name, value);
    }
  }
  if (out.places.contains("column_names")) out.columns.clear();  // the files have none of their own
  return out;
}

}  // namespace hone
