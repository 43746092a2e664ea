// The YAML header of a data set's README.md: its parts that assign files to rows.
//
//   ---
//   configs:
//   - config_name: wikitext-2-raw-v1
//     data_files:
//     - split: train
//       path: wikitext-2-raw-v1/train-*
//   dataset_info:
//     features: [{name: label, dtype: {class_label: {names: {'0': negative, '1': positive}}}}]
//   ---
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"
#include "learn/data/formats/rows.h"
#include "learn/datasets/patterns.h"

namespace hone {

struct DatasetConfig {
  std::string name;
  std::string data_dir;                     // where the globs begin; "" = the data set's folder
  std::optional<SplitPatterns> data_files;  // else default_patterns of data_dir
  bool is_default = false;                  // it says so
  std::vector<std::string> not_used;        // its other keys ("sep")
  LabelNames labels;
};

struct DatasetCard {
  std::vector<DatasetConfig> configs;
  std::map<std::string, LabelNames> labels;  // by configuration ("default" for none)
};

// `readme` is the text of README.md; one without a header gives an empty card. `name` appears in
// messages. Errors: H2803.
Result<DatasetCard> parse_card(std::string_view readme, const std::string& name);

// The configuration for `wanted` ("" or, unless a configuration has this name, "default": the only
// one, the one called default, or the one marked as default), or null if the card has none. Errors:
// H2801 with the nearest name.
Result<const DatasetConfig*> choose_config(const DatasetCard& card, const std::string& wanted,
                                           const std::string& dataset);

// H2801 for a name among those there are; `wanted` may be empty.
Error no_such_config(const std::string& dataset, const std::string& wanted,
                     const std::vector<std::string>& have);

}  // namespace hone
