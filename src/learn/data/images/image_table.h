// Images in the rows of data files: parquet and Arrow with columns that the `datasets` library writes (bytes and path), or
// any format with a column of paths.
#pragma once

#include "learn/data/formats/rows.h"
#include "learn/data/images/image_folder.h"

namespace hone {

struct ImageColumns {
  std::string image = "image";
  std::string label = "label";  // "labels" is found too; ClassLabel, texts or whole numbers
  bool labelled = true;         // false: rows to predict
};

// Reads all rows into memory, images still packed. A path is relative to its data file. Names of classes are those of the file, of
// `names`, or the sorted labels. Errors: H2965 no such column, or a cell without an image; those of the rows and of
// label_map.h.
Result<LabelledImages> read_image_table(const std::vector<std::string>& files,
                                        const ImageColumns& columns,
                                        const std::vector<std::string>& names = {});

}  // namespace hone
