// Parses the data set card: the YAML header of a data set's README.md, with the configurations, the files of each
// configuration and the class names.
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
  // The folder that globs are relative to; "": the data set's folder.
  std::string data_dir;
  // The globs of each split; none: default_patterns() in data_dir.
  std::optional<SplitPatterns> data_files;
  bool is_default = false;            // true: the card marks it as the default configuration
  std::vector<std::string> not_used;  // keys that hone does not use, such as "sep"
  LabelNames labels;                  // class names by column
};

struct DatasetCard {
  std::vector<DatasetConfig> configs;
  // Class names in dataset_info, by configuration. An entry of dataset_info without a configuration name has the key
  // "default".
  std::map<std::string, LabelNames> labels;
};

// Parses the text of README.md. The card is empty if there is no header. `name` is the file in messages. Errors:
// H2803 the header is not understood.
Result<DatasetCard> parse_card(std::string_view readme, const std::string& name);

// Chooses a configuration. `wanted` is its name. If `wanted` is "", or "default" and no configuration has this name,
// the choice is the only configuration, the one named "default", or the one marked as default. Null if the card has
// no configurations. The pointer is valid as long as the card. Errors: H2801 there is no such configuration, or
// there are several and none is the default; H2803 there are several defaults.
Result<const DatasetConfig*> choose_config(const DatasetCard& card, const std::string& wanted,
                                           const std::string& dataset);

// Error H2801: the data set has no configuration `wanted`. With `wanted` "": the data set has several configurations,
// and none was chosen. `have` are the names of its configurations.
Error no_such_config(const std::string& dataset, const std::string& wanted,
                     const std::vector<std::string>& have);

}  // namespace hone
