// Grows models of many kinds on one random table and prints a hash of each. Every compiler,
// processor and instruction set must print the lines of expected.txt.
#include <cstring>

#include "core/util/instruction_set.hpp"
#include "digest.hpp"

int main(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], "--instruction-set") == 0) {
        std::printf("%s\n", treerank::instruction_set());
        return 0;
    }
    treerank::Results results;
    treerank::add_trees(results);
    treerank::add_level_growth(results);
    treerank::add_forests(results);
    treerank::add_boosting(results);
    treerank::add_geometry(results);
    return results.failed() ? 1 : 0;
}
