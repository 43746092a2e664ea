// Reads images from the rows of data files: parquet and Arrow files with the image column of the `datasets` library
// (bytes and path), or any format with a column of paths.
#pragma once

#include "learn/data/formats/rows.h"
#include "learn/data/images/image_folder.h"

namespace hone {

struct ImageColumns {
  std::string image = "image";  // the column of images; if it does not exist, the column "img"
  // The column of classes (ClassLabel, texts or whole numbers); if it does not exist, "labels", else "fine_label".
  std::string label = "label";
  bool labelled = true;  // false: these are rows to predict, and the label column is not read
};

// Reads all rows into memory, with images still encoded. Paths are relative to the folder of their data file. The names
// of the classes are the first of these that is not empty: `names`; the names in the files if the label column is a
// ClassLabel; the sorted labels. Errors: H2965 a column does not exist, or a cell has no image; those of the rows and
// of label_map.h.
Result<LabelledImages> read_image_table(const std::vector<std::string>& files,
                                        const ImageColumns& columns,
                                        const std::vector<std::string>& names = {});

}  // namespace hone
