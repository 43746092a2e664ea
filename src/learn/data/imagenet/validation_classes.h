// Finds the class of each validation image of ILSVRC2012. The archive of these images does not contain the classes.
#pragma once

#include <map>
#include <string>

#include "learn/data/imagenet/devkit.h"

namespace hone {

// Maps the name of an image without its file extension ("ILSVRC2012_val_00000001") to its class ("n01751748").
using ValidationClasses = std::map<std::string, std::string, std::less<>>;

// Reads the classes from the archive of bounding boxes (ILSVRC2012_bbox_val_v3.tgz, or its uncompressed .tar). It has
// one .xml file for each image, and all objects in a file have the same class. Errors: H2968 an .xml file without
// objects or with objects of several classes, or no .xml file; H2966 a damaged tar archive; H0116 damaged compressed
// data; those of the store.
Result<ValidationClasses> classes_of_boxes(const std::string& path);

// Reads the classes from one of these files:
//
// - A text file with one WordNet id a line, in the order of the names of the images.
// - Kaggle's LOC_val_solution.csv: a header, then lines such as "ILSVRC2012_val_00048981,n03995372 85 1 499 272".
// - The devkit, ILSVRC2012_devkit_t12.tar.gz.
//
// Errors: H2968 a line without a class, or a file without lines; H2966 a damaged tar archive; H0116 damaged compressed
// data; those of the store.
Result<ValidationClasses> classes_of_list(const std::string& path);

}  // namespace hone
