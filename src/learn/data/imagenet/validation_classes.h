// The class of each validation image of ILSVRC2012, whose archive has no folders.
#pragma once

#include <map>
#include <string>

#include "learn/data/imagenet/devkit.h"

namespace hone {

// Name of an image without its ending ("ILSVRC2012_val_00000001") -> class ("n01751748").
using ValidationClasses = std::map<std::string, std::string, std::less<>>;

// From the archive of bounding boxes (ILSVRC2012_bbox_val_v3.tgz): a .xml file for each image, in which all objects have one class.
// It may be packed or not. Errors: H2968 a file that is not one of these, or objects of several classes; H2966; H0116.
Result<ValidationClasses> classes_of_boxes(const std::string& path);

// From a list: a line for each image, in the order of their names, with the class's WordNet id, or Kaggle's LOC_val_solution.csv
// (its header, then "ILSVRC2012_val_00048981,n03995372 85 1 499 272"); or from the devkit, ILSVRC2012_devkit_t12.tar.gz. Errors: H2968 a
// line without a class.
Result<ValidationClasses> classes_of_list(const std::string& path);

}  // namespace hone
