// A recipe's file as values, and the flags in its blocks as words of the steps' commands.
#pragma once

#include <limits>
#include <map>
#include <variant>

#include "base/settings/value.h"
#include "operate/pipeline/config_tree.h"
#include "operate/pipeline/recipe/recipe_task.h"

namespace hone {

struct Recipe {
#define KEY(name, type, value, ...) type name = value;
#include "operate/pipeline/recipe/recipe_keys.def"
#undef KEY
  OrderedJson preprocess, train, generate, evaluate, policy;  // objects, or null
};

struct RecipeKey {
  std::string name;
  std::variant<std::string Recipe::*, int64_t Recipe::*, double Recipe::*> member;
  std::string block = "";     // of the nested shape; "": the top
  std::string inside = name;  // the name in that block
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::string flag = "";  // the flag of the commands that says the same
  bool required = false;
};
const std::vector<RecipeKey>& recipe_keys();

// "--flag value ..." for the commands of the steps.
struct RecipeFlags {
  std::vector<std::string> rows;     // of hone prepare, train, eval and plan
  std::vector<std::string> reading;  // of hone prepare
  std::vector<std::string> preprocess, train, generate, evaluate;  // the other keys of these blocks
  std::vector<std::string> slices;                                 // columns of slice_columns
  // The columns that flags of reading name, each with the place of the flag.
  std::vector<std::pair<std::string, std::string>> columns;
  std::map<std::string, std::string> places;  // "max_source_length" -> where it is given
};

class RecipeReader {
 public:
  explicit RecipeReader(const ConfigTree& tree) : tree_(tree) {}

  // Errors: H3161 a value or a missing key; H3162 a key that is unknown or given twice.
  Result<Recipe> read();
  // After read(). A flag that decides rows counts for all steps that need it, in whichever block it
  // is. Errors: H3162 a flag that the pipeline sets itself, a secret, a flag that is given twice.
  Result<RecipeFlags> flags(const RecipeTask& task) const;

  bool given(const std::string& key) const { return given_.contains(key); }
  std::string place(const std::string& key) const;  // the file's name if the key is not given

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
