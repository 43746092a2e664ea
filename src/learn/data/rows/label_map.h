// Labels of rows as they were read, and the numbers that a model learns: a class each, or a value.
//
// Ids follow the names that a data set gives its values (ClassLabel); other labels that are texts
// or whole numbers are sorted, as in run_glue; numbers with a fraction are values (regression).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "learn/data/formats/rows.h"

namespace hone {

// The distinct labels of some rows, in the order met.
class SeenLabels {
 public:
  // Returns the number by which at() finds the label; keeps the place of the first row with it.
  // Errors: H2110 a list or nested value, H2123 an empty cell.
  Result<int32_t> add(const Row& row, size_t column, const std::string& column_name);
  // Adds a value of a list in a cell.
  Result<int32_t> add(const Cell& value, const Row& row, const std::string& column_name);

  struct Label {
    std::string text;              // "entailment", "2", "3.5", "True"
    std::optional<int64_t> whole;  // the text as a whole number
    std::optional<double> number;  // or as any number
    std::string where;             // "train.csv:7, column 'label'"
    int64_t rows = 0;
    // Whether the label marks a row without a label: "-" or -1.
    bool is_missing() const { return text == "-" || whole == -1; }
  };
  const std::vector<Label>& all() const { return labels_; }

 private:
  std::vector<Label> labels_;
  std::map<std::string, int32_t, std::less<>> numbers_;
};

struct LabelMap {
  bool regression = false;
  bool many = false;                                // a row may have several classes, or none
  std::vector<std::string> names;                   // by id; of classes
  std::map<std::string, int32_t, std::less<>> ids;  // of the labels as the data spell them
};

// For a data set or task that names its labels: texts are names, whole numbers are ids; without
// names it is a regression.
LabelMap named_labels(const std::vector<std::string>& names);
// For the user's files. Errors: H2121 when all rows have the same label or none.
Result<LabelMap> sorted_labels(const SeenLabels& seen);

// "entailment 6, neutral 4": the count of each label, by id; the first `shown`.
std::string label_counts(const LabelMap& map, const std::vector<int64_t>& counts, size_t shown);

// Gives the labels the ids of a checkpoint if both have the same names (in any case), as run_glue
// does. Labels that are numbers keep their order. `names`: those of the checkpoint; if it has none,
// the labels are unchanged. Errors: H2122.
Result<LabelMap> remap_labels(const LabelMap& data, const std::vector<std::string>& names,
                              const std::string& checkpoint);

// config.json's id2label by id; empty when it has none or LABEL_0, LABEL_1, ... Errors: H2122 ids
// that are not 0, 1, 2, ...
Result<std::vector<std::string>> label_names_of_config(const Json& config, const std::string& name);

// By number of `seen`: the id, -1 for rows without a label. Errors: H2121 with place, for a label
// outside the map.
Result<std::vector<int32_t>> class_ids(const SeenLabels& seen, const LabelMap& map);
// By number of `seen`: the value, NaN for rows without one (`-`). Errors: H2121.
Result<std::vector<float>> label_values(const SeenLabels& seen);

}  // namespace hone
