// Maps the labels in the data to what a model learns: a class id for each label, or a number (regression).
//
// If the data set names its classes (ClassLabel), ids are the indices of the names. Otherwise labels that are texts or
// whole numbers are sorted, and ids are their indices, as in run_glue of Transformers. If all labels are numbers and
// some have a fraction, the task is regression.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "learn/data/formats/rows.h"

namespace hone {

// Collects the distinct labels of rows and numbers them from 0 in the order of their first row.
class SeenLabels {
 public:
  // Adds the label in a cell of the row and returns its number, the index in all(). Errors: H2110 the cell holds a
  // list, a nested value, or a number that is not finite; H2123 the cell is empty.
  Result<int32_t> add(const Row& row, size_t column, const std::string& column_name);
  // Adds one value of a list of labels in a cell of `row`. Errors: as the first add().
  Result<int32_t> add(const Cell& value, const Row& row, const std::string& column_name);

  struct Label {
    std::string text;              // "entailment", "2", "3.5", "True"
    std::optional<int64_t> whole;  // the text as a whole number
    std::optional<double> number;  // the text as any finite number
    std::string where;             // the first row with the label: "train.csv:7, column 'label'"
    int64_t rows = 0;              // rows with the label
    // True for "-" and -1, which mark a row without a label.
    bool is_missing() const { return text == "-" || whole == -1; }
  };
  const std::vector<Label>& all() const { return labels_; }

 private:
  std::vector<Label> labels_;
  std::map<std::string, int32_t, std::less<>> numbers_;
};

struct LabelMap {
  bool regression = false;
  // true: multi-label classification, where a row may have several classes, or none.
  bool many = false;
  // names[id] of the classes; empty for regression.
  std::vector<std::string> names;
  // The id of each spelling of a label in the data.
  std::map<std::string, int32_t, std::less<>> ids;
};

// The map for a data set or task that names its classes. A label in the data is a name, or the id as a whole number.
// Regression if `names` is empty.
LabelMap named_labels(const std::vector<std::string>& names);
// The map for data without names of classes: sorts the labels, or chooses regression, as described above.
// Errors: H2121 no row has a label, or all rows have the same label.
Result<LabelMap> sorted_labels(const SeenLabels& seen);

// The text "entailment 6, neutral 4" for messages. counts[id] is the number of rows of a class. Names at most `shown`
// classes, from id 0 on.
std::string label_counts(const LabelMap& map, const std::vector<int64_t>& counts, size_t shown);

// Returns `data` with the ids of a checkpoint, as run_glue does. names[id] is the checkpoint's name of a class, and
// `checkpoint` is its path for messages. If data and checkpoint have the same names, in upper or lower case, each label
// gets the checkpoint's id. If all labels of the data are whole numbers, and there are as many as `names`, they keep
// their ids. If `names` is empty or the task is regression, `data` is returned unchanged. Errors: H2122 the names
// differ.
Result<LabelMap> remap_labels(const LabelMap& data, const std::vector<std::string>& names,
                              const std::string& checkpoint);

// The names of the classes by id, from id2label of config.json. Empty if config.json has no id2label, or the default
// names LABEL_0, LABEL_1, ... `name` is the file in messages. Errors: H2122 the ids are not 0, 1, 2, ..., or two
// names are equal.
Result<std::vector<std::string>> label_names_of_config(const Json& config, const std::string& name);

// result[n] is the class id of the label seen.all()[n]. It is -1 for the labels "-" and -1, which mark rows without a
// label, unless the map has them. Errors: H2121 a label is not in the map; the message names the first row with it.
Result<std::vector<int32_t>> class_ids(const SeenLabels& seen, const LabelMap& map);
// result[n] is the value of the label seen.all()[n]; NaN for "-", which marks rows without a label. Errors: H2121 a
// label is not a finite number.
Result<std::vector<float>> label_values(const SeenLabels& seen);

}  // namespace hone
