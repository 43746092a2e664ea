// Training checkpoints of other programs: DeepSpeed, PyTorch's distributed checkpoints, Accelerate, Lightning.
// docs/formats/imports.md lists the forms.
//
//   if (HONE_TRY(is_import(path))) {
//     ImportedRun run = HONE_TRY(open_import(path));
//     HONE_TRY(run.weights->read("transformer.wte.weight", DType::f32, bytes));
//   }
#pragma once

#include "learn/checkpoint/imports/import_format.h"

namespace hone {

// Whether a format of the shelf is at this folder or file.
Result<bool> is_import(const std::string& path, Store& store = file_store());
// Opens it. H2214 no format is at the path, or a part is missing or damaged; H2215 the form is not supported;
// H2207, H2703: errors of PyTorch's files.
Result<ImportedRun> open_import(const std::string& path, Store& store = file_store());

}  // namespace hone
