// Prepared rows as data sets of Megatron-LM: for each split one file of ids and its index
// (learn/data/formats/megatron_index.h).
//
//   D/train.bin, D/train.idx, D/validation.bin, ...   --data-path D/train
//   D/hone_megatron.json                              written last: settings, sources, counts
//   D/shards/                                         only while the rows are made
#pragma once

#include <string>
#include <vector>

#include "learn/data/shards/shards.h"

namespace hone {

struct MegatronFile {
  std::string split;
  int64_t rows = 0, tokens = 0;
  std::string type;  // of the ids: "uint16"
  int64_t bin_bytes = 0, idx_bytes = 0;
};
struct MegatronFiles {
  std::vector<MegatronFile> files;
  Prepared prepared;  // without a manifest if the files were there already
};

// options.folder + "/shards", where `make` makes shards; then writes the files of each split and
// deletes the shards. Ids are of the type that Megatron takes for the largest id of the split. Each
// row is a document. A run that was killed continues; of several processes one writes the files.
// `sources` are those of the shards' manifest. Errors: those of `make` and of the store; H2132
// if the folder holds other files, or files that were cut, H2133 if it holds files of other settings or sources.
Result<MegatronFiles> prepare_megatron(
    const PrepareOptions& options, const OrderedJson& sources,
    const std::function<Result<Prepared>(const PrepareOptions&)>& make);

bool has_megatron(const std::string& folder);  // finished files

// Deletes what prepare_megatron writes, if it wrote into the folder.
Status remove_megatron(const std::string& folder);

}  // namespace hone
