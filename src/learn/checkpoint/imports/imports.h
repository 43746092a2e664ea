// Opens training checkpoints of other programs, such as DeepSpeed, PyTorch's distributed checkpoints, Accelerate,
// Lightning and Megatron-LM. docs/formats/imports.md lists the formats.
//
//   if (HONE_TRY(is_import(path))) {
//     ImportedRun run = HONE_TRY(open_import(path));
//     HONE_TRY(run.weights->read("transformer.wte.weight", DType::f32, bytes));
//   }
#pragma once

#include "learn/checkpoint/imports/import_format.h"

namespace hone {

// Whether the folder or file is a checkpoint in one of the formats. Errors: those of the store.
Result<bool> is_import(const std::string& path, Store& store = file_store());
// Opens a checkpoint. H2214: it has none of the formats, or a part is missing or damaged. H2215: its form is not
// supported. H2207, H2703: a file of torch.save cannot be read.
Result<ImportedRun> open_import(const std::string& path, Store& store = file_store());

}  // namespace hone
