int nothing_to_see_here;
