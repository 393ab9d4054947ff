"""What the command line is made of: tables read with pyarrow, scores written block by block."""
