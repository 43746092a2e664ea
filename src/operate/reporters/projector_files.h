// Writes the files of TensorBoard's projector, which shows vectors as points of a space: a ProjectorConfig message in
// text form (plugins/projector/projector_config.proto of TensorBoard), and the tables that the message names.
#pragma once

#include <string>

#include "base/core/error.h"
#include "learn/train/log_media.h"

namespace hone {

// Writes projector_config.pbtxt into `folder`, which has the run's event files, and tensors.tsv, metadata.tsv and
// sprite.png into its subfolder projector. Files of the same names are replaced. Errors: those of the store.
Status write_projector_files(const std::string& folder, const LoggedEmbeddings& embeddings);

}  // namespace hone
