// Writes prepared rows as data sets of Megatron-LM: for each split a file of token ids (.bin) and its index (.idx, see
// learn/data/formats/megatron_index.h).
//
//   D/train.bin, D/train.idx, D/validation.bin, ...   for Megatron's --data-path D/train
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
  std::string type;  // the type of the ids, such as "uint16"
  int64_t bin_bytes = 0, idx_bytes = 0;
};
struct MegatronFiles {
  std::vector<MegatronFile> files;
  // The result for the shards. If the files existed before, was_there is true and the manifest is empty.
  Prepared prepared;
};

// Calls `make` to prepare shards in options.folder + "/shards", writes the files of each split, and deletes the
// shards. The ids have the type that Megatron chooses for the largest id of the split. Each row is one document. To
// continue a run that was killed, call prepare_megatron again with the same arguments. If several processes call it,
// one writes the files, and the others wait. `sources` are the records of the source files, as in the manifest of the
// shards.
// Errors: those of `make` and of the store; H2132 the folder holds other files, or files with the wrong size; H2133
// the folder holds files that were made with other settings or from other sources.
Result<MegatronFiles> prepare_megatron(
    const PrepareOptions& options, const OrderedJson& sources,
    const std::function<Result<Prepared>(const PrepareOptions&)>& make);

// True if the folder has finished files of prepare_megatron.
bool has_megatron(const std::string& folder);

// Deletes the files that prepare_megatron writes. Does nothing if the folder has neither finished files nor shards of
// prepare_megatron.
Status remove_megatron(const std::string& folder);

}  // namespace hone
