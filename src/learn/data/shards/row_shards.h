// Rows with a label, and pairs, in prepared shards (shards.h):
//
//   classification   input_ids, token_type_ids if any is not 0; label (a class's number, or a
//                    value), but not of rows to predict
//   ner              input_ids, labels: the class of each token, -100 without one; in rows to
//                    predict 0 for tokens to predict
//   sft              input_ids, labels: the id of each token that is learnt, -100 of the others
//   pairs            input_ids, labels: the ids of the target; empty without one
//   preferences, qa  input_ids and lists beside them: learn/tasks/preference_data.h, qa_data.h
//
// Classes have the numbers of the data, with names in the manifest: a run maps them to those of its
// checkpoint, as with a data set that names its labels.
#pragma once

#include <string>
#include <vector>

#include "learn/data/rows/labelled_rows.h"
#include "learn/data/rows/pair_rows.h"
#include "learn/data/rows/tagged_rows.h"
#include "learn/data/shards/shards.h"

namespace hone {

// `map` has numbered the labels of `rows`; null: rows to predict.
RowSplit labelled_split(const std::string& name, LabelledRows rows, const LabelCounts& counts,
                        const LabelMap* map);
// number_tags has numbered the labels by `map`; null: rows to predict.
RowSplit tagged_split(const std::string& name, LabelledRows rows, const LabelCounts& counts,
                      const LabelMap* map);
// The tags of `rows` are their own ids, or kIgnoreLabel.
RowSplit instruction_split(const std::string& name, LabelledRows rows, const OrderedJson& about);
RowSplit pair_split(const std::string& name, PairRows rows);

struct LabelledShards {
  LabelledText text;
  std::vector<std::string> names;  // of the classes, by number
  bool regression = false;
};
// A split, read into memory. Errors: H2132.
Result<LabelledShards> open_labelled_shards(const std::string& folder,
                                            const ShardManifest& manifest,
                                            const std::string& split);
// A split of rows of words, read into memory. Errors: H2132.
Result<TaggedText> open_tagged_shards(const std::string& folder, const ShardManifest& manifest,
                                      const std::string& split);
struct InstructionShards {
  LabelledRows data;
  OrderedJson about;
};
// A split of rows of instructions, read into memory. Errors: H2132.
Result<InstructionShards> open_instruction_shards(const std::string& folder,
                                                  const ShardManifest& manifest,
                                                  const std::string& split);
struct ListShards {
  TokenRows ids;
  std::vector<TokenRows> lists;  // by column
  OrderedJson about;
};
// A split with these columns of lists, read into memory. Errors: H2132.
Result<ListShards> open_list_shards(const std::string& folder, const ShardManifest& manifest,
                                    const std::string& split,
                                    const std::vector<std::string>& columns);
// H2132: rows of a split that hone does not write so. `what`: "has a label 7".
Error other_rows(const std::string& folder, const std::string& split, const std::string& what);
// A split of pairs. mapped: its rows are mapped; else they are read into memory. Errors: H2132.
Result<PairRows> open_pair_shards(const std::string& folder, const ShardManifest& manifest,
                                  const std::string& split, bool mapped);

}  // namespace hone
