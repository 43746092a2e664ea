// Reads a recipe, a YAML or JSON file that describes a pipeline by its data set, model and settings. Returns the values
// of the recipe's keys, and the flags in its objects "train", "preprocess", "generate" and "evaluate" as words of the
// steps' commands.
#pragma once

#include <limits>
#include <map>
#include <variant>

#include "base/settings/value.h"
#include "operate/pipeline/config_tree.h"
#include "operate/pipeline/recipe/recipe_task.h"

namespace hone {

// The values of a recipe. recipe_keys.def lists the keys.
struct Recipe {
#define KEY(name, type, value, ...) type name = value;
#include "operate/pipeline/recipe/recipe_keys.def"
#undef KEY
  OrderedJson preprocess, train, generate, evaluate, policy;  // objects; null if they are missing
};

struct RecipeKey {
  std::string name;
  std::variant<std::string Recipe::*, int64_t Recipe::*, double Recipe::*> member;
  std::string block = "";     // the object that may have the key; "": only the top level has it
  std::string inside = name;  // its name in that object
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::string flag = "";  // the flag of hone's commands with the same meaning; "": none
  bool required = false;
};
const std::vector<RecipeKey>& recipe_keys();

// The flags in a recipe's objects, as words "--flag", "value" ... of the steps' commands.
struct RecipeFlags {
  std::vector<std::string> rows;     // RecipeTask::rows: for hone prepare, train, eval and plan
  std::vector<std::string> reading;  // RecipeTask::reading: for hone prepare
  // The other flags of the recipe's objects with these names. `generate` also has the flags of RecipeTask::answers.
  std::vector<std::string> preprocess, train, generate, evaluate;
  // The columns that the flag slice_columns names.
  std::vector<std::string> slices;
  // The columns that the flags in `reading` name, each with the flag's place in the recipe ("news.json:2:14").
  std::vector<std::pair<std::string, std::string>> columns;
  std::map<std::string, std::string> places;  // "max_source_length" -> its place in the recipe
};

class RecipeReader {
 public:
  explicit RecipeReader(const ConfigTree& tree) : tree_(tree) {}

  // Reads the keys. Errors: H3161 a value is wrong, or a required key is missing; H3162 a key is unknown or given
  // twice.
  Result<Recipe> read();
  // Reads the flags; call read() first. A flag of RecipeTask::rows applies to all steps that need it, whichever object
  // has it. Error H3162: the pipeline sets the flag itself, the flag is a secret, or it is given twice.
  Result<RecipeFlags> flags(const RecipeTask& task) const;

  bool given(const std::string& key) const { return given_.contains(key); }
  // The place of a key in the file: "news.json:2:14"; the file's name if the key is not given.
  std::string place(const std::string& key) const;

 private:
  Status read_top(const std::string& key, const OrderedJson& value, const std::string& pointer);
  Status read_block(const std::string& block, const OrderedJson& value, const std::string& pointer);
  Status set(const RecipeKey& key, const OrderedJson& value, const std::string& pointer);
  Status check_bounds();
  Status check_flag(const std::string& name, const std::string& shown,
                    const std::string& where) const;
  Field field(const RecipeKey& key);

  const ConfigTree& tree_;
  Recipe recipe_;
  std::map<std::string, std::string> given_;  // key -> place
};

}  // namespace hone
