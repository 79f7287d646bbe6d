"""Tools of the repository; the package never imports them."""
