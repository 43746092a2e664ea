// Writes and reads rows with labels, and pairs, in prepared shards (shards.h). The columns by kind of data:
//
//   classification   input_ids; token_type_ids, left out if all are 0; label: a class id or a value, left out for
//                    rows to predict
//   ner              input_ids; labels: the class id of each token, -100 for tokens without a class. Rows to predict
//                    have 0 for each token to predict
//   sft              input_ids; labels: the id of each token to learn, -100 for the other tokens
//   pairs            input_ids; labels: the ids of the target, empty if there is no target
//   preferences, qa  input_ids and other columns of lists: learn/tasks/preference_data.h, qa_data.h
//
// Class ids are those of the data, and their names are in the manifest. A run maps them by name to the class ids of its
// checkpoint.
#pragma once

#include <string>
#include <vector>

#include "learn/data/rows/labelled_rows.h"
#include "learn/data/rows/pair_rows.h"
#include "learn/data/rows/tagged_rows.h"
#include "learn/data/shards/shards.h"

namespace hone {

// The split of classification rows. `map` is the map that number_labels used; null for rows to predict.
RowSplit labelled_split(const std::string& name, LabelledRows rows, const LabelCounts& counts,
                        const LabelMap* map);
// The split of token classification rows. `map` is the map that number_tags used; null for rows to predict.
RowSplit tagged_split(const std::string& name, LabelledRows rows, const LabelCounts& counts,
                      const LabelMap* map);
// The split of instruction rows. In RowLabels::tags each token to learn has its own id, and other tokens have
// kIgnoreLabel. `about` is the record for ShardSplit::about.
RowSplit instruction_split(const std::string& name, LabelledRows rows, const OrderedJson& about);
RowSplit pair_split(const std::string& name, PairRows rows);

struct LabelledShards {
  LabelledText text;
  // names[id] of the classes; empty for regression and rows to predict.
  std::vector<std::string> names;
  bool regression = false;
};
// Reads a split of classification rows into memory. Errors: H2132 there is no such split, or its shards do not have
// this form; H0117 a file changed while it was read.
Result<LabelledShards> open_labelled_shards(const std::string& folder,
                                            const ShardManifest& manifest,
                                            const std::string& split);
// Reads a split of token classification rows into memory. Errors: H2132, H0117 as above.
Result<TaggedText> open_tagged_shards(const std::string& folder, const ShardManifest& manifest,
                                      const std::string& split);
struct InstructionShards {
  LabelledRows data;
  OrderedJson about;
};
// Reads a split of instruction rows into memory. Errors: H2132, H0117 as above.
Result<InstructionShards> open_instruction_shards(const std::string& folder,
                                                  const ShardManifest& manifest,
                                                  const std::string& split);
struct ListShards {
  TokenRows ids;
  std::vector<TokenRows> lists;  // one for each wanted column, in the order of `columns`
  OrderedJson about;
};
// Reads input_ids and the named columns of lists of a split into memory. Errors: H2132, H0117 as above.
Result<ListShards> open_list_shards(const std::string& folder, const ShardManifest& manifest,
                                    const std::string& split,
                                    const std::vector<std::string>& columns);
// Error H2132: the split does not have the form that hone writes. `what` follows the name of the split in the message,
// for example "has a label 7".
Error other_rows(const std::string& folder, const std::string& split, const std::string& what);
// Opens a split of pairs. With `mapped` its rows stay in the mapped files, else they are read into memory. Errors:
// H2132, H0117 as above.
Result<PairRows> open_pair_shards(const std::string& folder, const ShardManifest& manifest,
                                  const std::string& split, bool mapped);

}  // namespace hone
